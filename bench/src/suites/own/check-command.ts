import { spawn } from 'node:child_process';
import { parseJsonText, reasonOf, UsageError } from 'flinch/internals';
import { z } from 'zod';
import type { BenchProblem, Checked } from '../suite.js';

/** Time for one answer. */
const TIMEOUT_MS = 30_000;
/** Characters of the output for one answer. */
const LONGEST = 2 ** 20;

/** An answer of which it is not known whether it is right. */
export class UncheckedError extends UsageError {}

const verdictSchema = z.object({ right: z.boolean(), extracted: z.string().nullable().default(null) });

/**
 * Asks a program whether a response is right: it gets `{"id", "question", "answers", "response"}`, and what else the row has, as its input, and prints
 * `right`, `wrong`, or `{"right": boolean, "extracted": string}`.
 * @param command line of the shell
 * @throws UncheckedError where it fails, prints something else, or goes beyond the limits: then all that it has started is ended
 */
export async function checkByCommand(
  command: string,
  { id, question, row }: BenchProblem,
  response: string,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Checked> {
  const { answers = [], choices = null, context = null } = row ?? {};
  const input = JSON.stringify({ id, question, answers, choices, context, response });
  const printed = (await run(command, input, { id, signal, timeoutMs })).trim();
  if (printed === 'right' || printed === 'wrong')
    return { extracted: null, correct: printed === 'right', by: 'program' };
  try {
    const { right, extracted } = parseJsonText(printed, verdictSchema, `--check: ${command}: about ${id}`);
    return { extracted, correct: right, by: 'program' };
  } catch (cause) {
    throw new UncheckedError(reasonOf(cause), { cause });
  }
}

interface RunOptions {
  readonly id: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

function run(command: string, input: string, { id, signal, timeoutMs }: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own: what the shell has started ends with it.
    const child = spawn(command, { shell: true, detached: true });
    const printed = { stdout: '', stderr: '' };
    const settled = new AbortController();
    const fail = (problem: string): void => {
      if (settled.signal.aborted) return;
      settled.abort();
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL'); // it has ended, or the system has no process groups
      }
      // What has left the group may hold them open.
      for (const stream of child.stdio) stream?.destroy();
      const why = printed.stderr.trim().split('\n').at(-1);
      const message = `--check: ${command} ${problem} about ${id}${why ? `: ${why}` : ''}`;
      reject(signal.aborted ? signal.reason : new UncheckedError(message));
    };
    AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]).addEventListener(
      'abort',
      () => fail(`took longer than ${timeoutMs / 1000} s`),
      { signal: settled.signal },
    );
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        printed[name] = (printed[name] + text).slice(0, LONGEST);
        if (printed[name].length === LONGEST) fail('printed more than 1 MiB');
      });
    child.on('error', (error) => fail(`cannot be started (${error.message})`));
    child.on('close', (code, killed) => {
      if (code !== 0) fail(killed ? `was ended by ${killed}` : `ended with ${code}`);
      settled.abort();
      resolve(printed.stdout);
    });
    // A program may end without reading its input; its exit code says whether that was well.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
