import { UsageError } from 'flinch/internals';
import { each } from '../../concurrent-map.js';
import type { CheckRecord } from '../../records/records.js';
import { isLeftOut, isTruncated } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import { type Run, textOf } from '../run-context.js';

/** Whether each final answer is right. */
export async function checkResponses(run: Run): Promise<void> {
  const { problems, records, signal } = run;
  const whole = problems.filter(({ id }) => {
    const response = records.responses.get(id);
    return response && !isLeftOut(response);
  });
  const missing = whole.filter(({ id }) => !records.checks.has(id));
  const options = { done: whole.length - missing.length, signal };
  await each('check', missing, async (one) => void records.checks.add(await check(run, one)), options);
}

async function check({ suite, settings, judge, records }: Run, problem: BenchProblem): Promise<CheckRecord> {
  const { id } = problem;
  const response = records.responses.get(id)!;
  const text = textOf(response);
  // A right answer on the way is not where it would have ended.
  if (isTruncated(response)) return { id, extracted: null, correct: false, by: 'rules' };
  const checked = suite.check(problem, text);
  if (checked && (settings.check === 'rules' || checked.by === 'labels'))
    return { by: suite.toldBy === 'judge' ? 'rules' : suite.toldBy, ...checked, id };
  if (!judge)
    throw new UsageError('--judge: is required, because only a judge can check these final answers');
  const correct = await judge.check(problem, text);
  if (correct !== null) return { id, extracted: checked?.extracted ?? null, correct, by: 'judge' };
  // Nothing could be made of the judge's word.
  if (checked) return { id, ...checked, by: 'rules' };
  throw new UsageError(`${id}: the judge's verdict on the final answer is unreadable`);
}
