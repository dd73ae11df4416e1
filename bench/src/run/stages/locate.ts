import { UsageError } from 'flinch/internals';
import { each } from '../../concurrent-map.js';
import type { LocatedRecord } from '../../records/records.js';
import { isLeftOut, select } from '../../records/selection.js';
import { labelByRollouts } from '../../rollouts/label-by-rollouts.js';
import type { BenchProblem } from '../../suites/suite.js';
import { labelledBy } from '../labels.js';
import { type Run, stepsOf, textOf } from '../run-context.js';

/**
 * The first wrong step of each wrong response, as many as each subset needs: no more is asked of a
 * judge, or drawn. Where none is found, others are looked at the next time.
 * Where a program or a label tells, of right responses too: a right answer can follow a wrong step.
 */
export async function locateSteps(run: Run): Promise<void> {
  const { problems, records, rule, streams, completer, signal } = run;
  const { next } = select(problems, records, rule);
  const options = { done: records.located.size, signal, ...(completer && { concurrency: streams }) };
  await each(
    'locate',
    next,
    async (problem) => void records.located.add(await locate(run, problem)),
    options,
  );
  const by = labelledBy(run.suite, run.settings);
  if (by !== 'program' && by !== 'labels') return;
  for (const problem of problems) {
    const { id } = problem;
    const [response, check] = [records.responses.get(id), records.checks.get(id)];
    if (!response || !check?.correct || isLeftOut(response) || records.located.has(id)) continue;
    const span = run.suite.locate(problem, textOf(response));
    if (span) records.located.add({ id, span: [...span], by });
  }
}

async function locate(run: Run, problem: BenchProblem): Promise<LocatedRecord> {
  const { suite, settings, judge, records } = run;
  const { id } = problem;
  const text = textOf(records.responses.get(id)!);
  const by = labelledBy(suite, settings);
  // An empty response has no step.
  if (text.trim() === '') return { id, span: null, by, rejected: 'none_named' };
  if (by === 'rollouts') return { id, by, ...(await locateByRollouts(run, problem)) };
  if (by === 'judge') {
    if (!judge) throw new UsageError(needsJudge(suite.name));
    return { id, by, ...(await judge.locate(problem, text)) };
  }
  const span = suite.locate(problem, text);
  return span && span[1] > span[0]
    ? { id, span: [...span], by }
    : { id, span: null, by, rejected: by === 'labels' ? 'unlabelled' : 'none_named' };
}

async function locateByRollouts(
  { engine, suite, settings, completer, records, signal }: Run,
  problem: BenchProblem,
): Promise<Pick<LocatedRecord, 'span' | 'rejected' | 'rollouts'>> {
  const { label, topP, maxTokens, seed } = settings;
  if (!completer || label?.by !== 'rollouts') throw new RangeError('no rollouts');
  const response = records.responses.get(problem.id)!;
  const steps = stepsOf(problem, response);
  const { step, rollouts } = await labelByRollouts(
    {
      problem,
      beginnings: steps.map(({ tokens: { start } }) => ({
        text: response.tokenTexts.slice(0, start).join(''),
        tokenIds: response.tokenIds.slice(0, start),
        maxTokens: Math.min(maxTokens, engine.contextLength - response.promptTokens - start),
      })),
      isRight: (text) => suite.check(problem, text)?.correct ?? false,
    },
    { ...label, completer, topP, seed, known: records.rollouts, signal },
  );
  if (step === null) return { span: null, rejected: 'not_reached', rollouts };
  const [start, end] = steps[step]!.span;
  return { span: [start, end], rollouts };
}

export const needsJudge = (suite: string): string =>
  `--judge: is required, because only a judge can locate the first wrong step of responses to ${suite}. Without a judge, add --label rollouts, or skip this stage: --stages generate,check,sample,score,evaluate --score all`;
