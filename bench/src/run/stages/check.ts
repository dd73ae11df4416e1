import { availableParallelism } from 'node:os';
import { remark, UsageError } from 'flinch/internals';
import { each } from '../../concurrent-map.js';
import type { CheckRecord } from '../../records/records.js';
import { isLeftOut, isTruncated } from '../../records/selection.js';
import { UncheckedError } from '../../suites/own/check-command.js';
import type { BenchProblem } from '../../suites/suite.js';
import { type Run, textOf } from '../run-context.js';

/** Answers of which a program says nothing, after which it is asked no more. */
const MOST_UNCHECKED = 5;

/**
 * Whether each final answer is right.
 * @throws UsageError where a program did not say so; what it said of others is kept
 */
export async function checkResponses(run: Run): Promise<void> {
  const { problems, records, signal } = run;
  const whole = problems.filter(({ id }) => {
    const response = records.responses.get(id);
    return response && !isLeftOut(response);
  });
  const missing = whole.filter(({ id }) => !records.checks.has(id));
  const options = {
    done: whole.length - missing.length,
    signal,
    // Programs take processors of their own.
    ...(run.suite.checkBy && { concurrency: availableParallelism() }),
  };
  let unchecked = 0;
  const checkOne = async (problem: BenchProblem): Promise<void> => {
    if (unchecked >= MOST_UNCHECKED) return;
    try {
      records.checks.add(await check(run, problem));
    } catch (error) {
      if (!(error instanceof UncheckedError)) throw error;
      unchecked += 1;
      remark(error.message);
    }
  };
  await each('check', missing, checkOne, options);
  if (unchecked === 0) return;
  const left = missing.filter(({ id }) => !records.checks.has(id)).length;
  throw new UsageError(
    `--check: ${left} of ${whole.length} answers are not checked, which is neither right nor wrong; the same command checks them again`,
  );
}

async function check(
  { suite, settings, judge, records, signal }: Run,
  problem: BenchProblem,
): Promise<CheckRecord> {
  const { id } = problem;
  const response = records.responses.get(id)!;
  const text = textOf(response);
  // A right answer on the way is not where it would have ended.
  if (isTruncated(response)) return { id, extracted: null, correct: false, by: 'rules' };
  const checked = suite.check(problem, text) ?? (await suite.checkBy?.(problem, text, signal)) ?? null;
  if (checked && (settings.check === 'rules' || checked.by === 'labels')) {
    const by = suite.labelledBy === 'judge' ? 'rules' : suite.labelledBy;
    const correct = settings.unsure === 'wrong' ? (checked.correct ?? false) : checked.correct;
    return { by, ...checked, correct, id };
  }
  if (!judge)
    throw new UsageError('--judge: is required, because only a judge can check these final answers');
  const correct = await judge.check(problem, text);
  if (correct !== null) return { id, extracted: checked?.extracted ?? null, correct, by: 'judge' };
  // Nothing could be made of the judge's word.
  if (checked) return { id, ...checked, by: 'rules' };
  throw new UsageError(`${id}: the judge's verdict on the final answer is unreadable`);
}
