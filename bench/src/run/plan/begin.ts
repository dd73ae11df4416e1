import { createInterface } from 'node:readline/promises';
import { UsageError } from 'flinch/internals';
import type { RunOptions } from '../run-options.js';
import { formatDuration, formatPlan, type Plan } from './plan.js';

/** Seconds after which a person is asked first. */
const LONG = 3600;

/**
 * Says what a run is going to do, and asks before a long one. Where nobody can answer, as in a job of a cluster, it
 * begins: whoever wrote the job has decided.
 * @throws UsageError where the answer is no
 */
export async function begin(
  plan: Plan,
  { yes = false }: Pick<RunOptions, 'yes'>,
  signal: AbortSignal,
): Promise<void> {
  process.stderr.write(`${formatPlan(plan)}\n`);
  if (yes || plan.seconds <= LONG || !process.stdin.isTTY || !process.stderr.isTTY) return;
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`This takes about ${formatDuration(plan.seconds)}. Begin? [y/N] `, {
      signal,
    });
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('not begun; --yes begins without asking');
  } finally {
    prompt.close();
  }
}
