import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { UsageError } from '#src/files/errors.js';

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
  const file = createWriteStream(log, { flags: 'a' });
  // A full disk takes no log, either; the program's own error says so.
  file.on('error', () => {});
  const both = new PassThrough();
  let stdout = '';
  child.stdout.on('data', (data: Buffer) => {
    stdout = `${stdout}${data}`.slice(-KEPT_CHARACTERS);
    both.write(data);
  });
  child.stderr.on('data', (data: Buffer) => both.write(data));
  const last: string[] = [];
  const reading = (async () => {
    for await (const line of createInterface({ input: both })) {
      if (!file.errored) file.write(`${line}\n`);
      onLine?.(line);
      last.push(line);
      if (last.length > 200) last.shift();
    }
  })();
  try {
    const outcome = await new Promise<number | string>((resolve, reject) => {
      child.once('error', (cause) => {
        both.end();
        reject(new UsageError(`${command} could not be started (${cause.message})`, { cause }));
      });
      child.once('close', (code, kind) => {
        both.end();
        resolve(code ?? kind ?? 'unknown');
      });
    });
    await reading;
    signal.throwIfAborted();
    if (outcome === 0) return stdout;
    const text = last.join('\n');
    const shown = last.filter((line) => line.trim() !== '').slice(-SHOWN_LINES);
    const how = typeof outcome === 'number' ? `exit code ${outcome}` : outcome;
    throw new UsageError(
      [
        `${[command, ...args.slice(0, 2)].join(' ')} … failed (${how}):`,
        ...shown.map((line) => `    ${line}`),
        `  ${hint?.(text) ?? hintFor(text)}`,
        `  All of its output: ${log}`,
      ].join('\n'),
    );
  } finally {
    signal.removeEventListener('abort', end);
    file.end();
    await finished(file).catch(() => {});
  }
}

/** Advice derived from the output. */
function hintFor(output: string): string {
  if (/No space left on device|ENOSPC|os error 28|Disk quota exceeded/i.test(output)) return DISK_FULL;
  if (/not found in the package registry|no versions? of|there is no version/i.test(output))
    return 'The package index does not have it (any more): it may be gone, or UV_DEFAULT_INDEX names another index.';
  if (/error sending request|dns error|Failed to fetch|connection refused|timed out/i.test(output))
    return 'The package index could not be reached: check the network, HTTPS_PROXY and UV_DEFAULT_INDEX.';
  if (/Killed|out of memory|MemoryError/i.test(output)) return 'There may be too little memory.';
  return 'Its output says why.';
}

export const DISK_FULL = 'The disk is full: free space, or let FLINCH_PEERS name a folder on another disk.';
