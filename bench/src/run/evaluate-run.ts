import { join } from 'node:path';
import type { ScoredCase } from '../evaluate/case.js';
import { evaluateClaims } from '../evaluate/claim-measures.js';
import { type EvaluationRule, evaluate, scoredCases } from '../evaluate/evaluate.js';
import { type Evaluation, evaluationSchema } from '../records/evaluation.js';
import { writeWhole } from '../result-log.js';
import { suites } from '../suites/suites.js';
import { stepsOf } from './run-context.js';
import { EVALUATION, peekRecords, type RunRecords, readRun, readScores } from './run-folder.js';

/** Evaluates what is in a run's folder, and writes it there. */
export async function evaluateRun(folder: string, records: RunRecords): Promise<Evaluation> {
  const run = await readRun(folder);
  const { settings } = run;
  const { model, ...others } = run.about;
  const { judged } = suites[settings.suite];
  const asked = [knownOf(folder, run, records), ruleOf(settings)] as const;
  const tables = await (judged === 'claims' ? evaluateClaims(...asked) : evaluate(...asked));
  const evaluation = evaluationSchema.parse({
    suite: settings.task?.name ?? settings.suite,
    model: { ...model, fingerprint: settings.model },
    temperature: settings.temperature,
    settings,
    ...others,
    ...tables,
  });
  writeWhole(join(folder, EVALUATION), `${JSON.stringify(evaluation, null, 1)}\n`);
  return evaluation;
}

/** The responses of a run's folder that are scored so far. Another process may be writing to it. */
export async function casesOfRun(folder: string): Promise<ScoredCase[]> {
  const run = await readRun(folder);
  return scoredCases(knownOf(folder, run, await peekRecords(folder)), ruleOf(run.settings));
}

type Run = Awaited<ReturnType<typeof readRun>>;

const knownOf = (folder: string, { problems }: Run, records: RunRecords) => ({
  ...records,
  problems,
  scores: { [Symbol.asyncIterator]: () => readScores(folder) },
  times: problems.flatMap(({ id }) => records.times.get(id) ?? []),
});

const ruleOf = (settings: Run['settings']): EvaluationRule => ({
  scored: settings.score,
  perSubset: settings.perSubset,
  measures: settings.measures,
  leaveOneOut: settings.suite === 'bbh',
  stepsOf,
  bootstrap: settings.bootstrap,
});
