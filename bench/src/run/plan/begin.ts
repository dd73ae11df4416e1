import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { UsageError, visible } from 'flinch/internals';
import type { RunOptions } from '../run-options.js';
import { formatDuration, formatPlan, type Plan } from './plan.js';

/** Seconds after which a person is asked first. */
const LONG = 3600;

/** Where a person can be asked, if both are a terminal. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean };
}

/**
 * Says what a run is going to do, and asks before a long one. Where nobody can answer, as in a job of a cluster, it
 * begins: whoever wrote the job has decided.
 * @throws UsageError where the answer is no
 */
export async function begin(
  plan: Plan,
  { yes = false }: Pick<RunOptions, 'yes'>,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  output.write(visible(`${formatPlan(plan)}\n`));
  if (yes || plan.seconds <= LONG || !input.isTTY || !output.isTTY) return;
  const prompt = createInterface({ input, output });
  try {
    const answer = await prompt.question(`This takes about ${formatDuration(plan.seconds)}. Begin? [y/N] `, {
      signal,
    });
    if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('not begun; --yes begins without asking');
  } finally {
    prompt.close();
  }
}
