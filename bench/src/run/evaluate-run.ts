import { join } from 'node:path';
import { CONTROLS } from '../evaluate/case.js';
import { evaluateClaims } from '../evaluate/claims.js';
import { type EvaluationRule, evaluate } from '../evaluate/evaluate.js';
import { type Evaluation, evaluationSchema } from '../records/evaluation.js';
import { writeWhole } from '../result-log.js';
import { suites } from '../suites/suites.js';
import { stepsOf } from './run-context.js';
import { EVALUATION, type RunRecords, readRun, readScores } from './run-folder.js';

/** Evaluates what is in a run's folder, and writes it there. */
export async function evaluateRun(folder: string, records: RunRecords): Promise<Evaluation> {
  const evaluation = await evaluationOf(folder, records);
  writeWhole(join(folder, EVALUATION), `${JSON.stringify(evaluation, null, 1)}\n`);
  return evaluation;
}

/** Evaluates what is in a run's folder, and writes nothing. */
export async function evaluationOf(folder: string, records: RunRecords): Promise<Evaluation> {
  const { settings, about, problems } = await readRun(folder);
  const { model, ...others } = about;
  const known = {
    ...records,
    problems,
    scores: readScores(folder),
    times: problems.flatMap(({ id }) => records.times.get(id) ?? []),
  };
  const rule: EvaluationRule = {
    scored: settings.score,
    perSubset: settings.perSubset,
    measures: settings.measures.filter((name) => !CONTROLS.includes(name)),
    leaveOneOut: settings.suite === 'bbh',
    stepsOf: (problem, response) => stepsOf(settings.steps, problem, response),
    bootstrap: settings.bootstrap,
  };
  const { judged } = suites[settings.suite];
  const tables = await (judged === 'claims' ? evaluateClaims(known, rule) : evaluate(known, rule));
  return evaluationSchema.parse({
    suite: settings.suite,
    model: { ...model, fingerprint: settings.model },
    temperature: settings.temperature,
    settings,
    ...others,
    ...tables,
  });
}
