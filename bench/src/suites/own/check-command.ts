import { spawn } from 'node:child_process';
import { parseJsonText, UsageError } from 'flinch/internals';
import { z } from 'zod';
import type { BenchProblem, Checked } from '../suite.js';

/** Time for one answer. */
const TIMEOUT_MS = 60_000;
/** Characters of an output that are kept. */
const LONGEST = 100_000;

const verdictSchema = z.object({ right: z.boolean(), extracted: z.string().nullable().default(null) });

/**
 * Asks a program whether a response is right: it gets `{"id", "question", "answers", "response"}`, and what else the row has, as its input, and prints
 * `right`, `wrong`, or `{"right": boolean, "extracted": string}`.
 * @param command line of the shell
 * @throws UsageError where it fails, takes longer than a minute, or prints something else
 */
export async function checkByCommand(
  command: string,
  { id, question, row }: BenchProblem,
  response: string,
  signal: AbortSignal,
): Promise<Checked> {
  const { answers = [], choices = null, context = null } = row ?? {};
  const input = JSON.stringify({ id, question, answers, choices, context, response });
  const said = (await run(command, input, signal, id)).trim();
  if (said === 'right' || said === 'wrong')
    return { extracted: null, correct: said === 'right', by: 'program' };
  const { right, extracted } = parseJsonText(said, verdictSchema, `--check: ${command}: about ${id}`);
  return { extracted, correct: right, by: 'program' };
}

function run(command: string, input: string, signal: AbortSignal, id: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own: what the shell has started ends with it.
    const child = spawn(command, { shell: true, detached: true });
    let [output, errors, late] = ['', '', false];
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL'); // it has ended, or the system has no process groups
      }
    };
    const timer = setTimeout(() => {
      late = true;
      kill();
    }, TIMEOUT_MS);
    signal.addEventListener('abort', kill);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < LONGEST) output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (errors.length < LONGEST) errors += text;
    });
    child.on('error', reject);
    child.on('close', (code, killed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      if (signal.aborted) return reject(signal.reason);
      if (code === 0) return resolve(output);
      const how = late
        ? 'took longer than a minute'
        : killed
          ? `was ended by ${killed}`
          : `ended with ${code}`;
      const why = errors.trim().split('\n').at(-1);
      reject(new UsageError(`--check: ${command} ${how} about ${id}${why ? `: ${why}` : ''}`));
    });
    // A program may end without reading its input; its exit code says whether that was well.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
