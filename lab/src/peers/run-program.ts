import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { UsageError } from '#src/files/file-errors.js';

export interface ProgramOptions {
  readonly cwd: string;
  /** The file that its output is added to. */
  readonly log: string;
  readonly signal: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
  /** A line of its standard output or standard error. */
  readonly onLine?: (line: string) => void;
  /** Advice for a failure with this output, beyond what is known of every program. */
  readonly hint?: (output: string) => string | undefined;
}

/** Characters at the end of the standard output that are returned: a build may print for hours. */
const KEPT_CHARACTERS = 1 << 20;

/** Lines of a failed program that its error shows. */
const SHOWN_LINES = 12;

/**
 * Runs a program to its end.
 *
 * @returns the end of its standard output
 * @throws UsageError with the end of its output and what can be done
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd, log, signal, env, onLine, hint }: ProgramOptions,
): Promise<string> {
  signal.throwIfAborted();
  // A group of its own: a signal ends also what the program has started.
  const child = spawn(command, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  signal.addEventListener('abort', end, { once: true });
  const closed = once(child, 'close').catch((cause: Error) => {
    throw new UsageError(`${command} could not be started (${cause.message})`, { cause });
  });
  const both = new PassThrough();
  let stdout = '';
  child.stdout.on('data', (data: Buffer) => {
    stdout = `${stdout}${data}`.slice(-KEPT_CHARACTERS);
    both.write(data);
  });
  child.stderr.on('data', (data: Buffer) => both.write(data));
  child.once('error', () => both.end()).once('close', () => both.end());
  const last: string[] = [];
  try {
    for await (const line of createInterface({ input: both })) {
      // A full disk takes no log, either; the program's own error says so.
      await appendFile(log, `${line}\n`).catch(() => {});
      onLine?.(line);
      last.push(line);
      if (last.length > 200) last.shift();
    }
    const [code, kind] = await closed;
    signal.throwIfAborted();
    if (code === 0) return stdout;
    const text = last.join('\n');
    const shown = last.filter((line) => line.trim() !== '').slice(-SHOWN_LINES);
    throw new UsageError(
      [
        `${[command, ...args.slice(0, 2)].join(' ')} … failed (${code === null ? kind : `exit code ${code}`}):`,
        ...shown.map((line) => `    ${line}`),
        `  ${hint?.(text) ?? hintFor(text)}`,
        `  All of its output: ${log}`,
      ].join('\n'),
    );
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Advice derived from the output. */
function hintFor(output: string): string {
  if (/No space left on device|ENOSPC|os error 28|Disk quota exceeded/i.test(output)) return DISK_FULL;
  if (/not found in the package registry|no versions? of|there is no version/i.test(output))
    return 'The package index does not have it (any more): it may be gone, or UV_DEFAULT_INDEX names another index.';
  if (/error sending request|dns error|Failed to fetch|connection refused|timed out/i.test(output))
    return 'The package index could not be reached: check the network, HTTPS_PROXY and UV_DEFAULT_INDEX.';
  return 'Its output says why.';
}

export const DISK_FULL = 'The disk is full: free space, or let FLINCH_PEERS name a folder on another disk.';
