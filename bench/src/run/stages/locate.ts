import { UsageError } from 'flinch/internals';
import { each } from '../../concurrent-map.js';
import type { LocatedRecord } from '../../records/records.js';
import { isLeftOut, type SelectionRule, select } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import { type Run, textOf } from '../run-context.js';

/**
 * The first wrong step of each wrong response, as many as each subset needs: a judge is asked no more often than that.
 * Where it finds none, others are looked at the next time.
 * Where a program tells, of right responses too: a right answer can follow a wrong step.
 */
export async function locateSteps(run: Run): Promise<void> {
  const { problems, isMine, records, rule, signal } = run;
  const missing = (by: SelectionRule): BenchProblem[] => select(problems, records, by).next.filter(isMine);
  const needed = missing({ ...rule, ignored: () => false });
  const next = needed.length > 0 ? needed : missing(rule);
  const options = { done: records.located.size, signal };
  await each(
    'locate',
    next,
    async (problem) => void records.located.add(await locate(run, problem)),
    options,
  );
  if (run.suite.toldBy !== 'program') return;
  for (const problem of problems.filter(isMine)) {
    const { id } = problem;
    const [response, check] = [records.responses.get(id), records.checks.get(id)];
    if (!response || !check?.correct || isLeftOut(response) || records.located.has(id)) continue;
    const span = run.suite.locate(problem, textOf(response));
    if (span) records.located.add({ id, span: [...span], by: 'program' });
  }
}

async function locate({ suite, judge, records }: Run, problem: BenchProblem): Promise<LocatedRecord> {
  const { id, given } = problem;
  const text = textOf(records.responses.get(id)!);
  const span = suite.locate(problem, text);
  const by = suite.toldBy;
  if (span && span[1] > span[0]) return { id, span: [...span], by };
  // Labels and programs give no more than that, and an empty response has no step.
  if (span || given || text.trim() === '') return { id, span: null, by, rejected: 'none_named' };
  if (!judge) throw new UsageError(needsJudge(suite.name));
  return { id, by, ...(await judge.locate(problem, text)) };
}

export const needsJudge = (suite: string): string =>
  `--judge: is required, because only a judge can locate the first wrong step of responses to ${suite}. Without a judge, skip this stage: --stages generate,check,sample,score,evaluate --score all`;
