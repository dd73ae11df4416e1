import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { formatDuration, UsageError, visible } from 'flinch/internals';
import type { RunOptions } from '../run-options.js';
import { formatPlan, type Plan } from './plan.js';

/** Seconds after which a person is asked first. */
const LONG = 3600;

/** Streams for asking the user, if both are a terminal. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean };
}

/**
 * Prints the plan of a run, and asks for confirmation before a long one. Without a terminal, as in a job of a
 * cluster, it begins at once.
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
