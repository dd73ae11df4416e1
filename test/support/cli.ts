import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { CLI_ENTRY } from '#cli/entry.js';
import { LAB_ENTRY } from '#lab/lab-entry.js';

/** Variables of a process whose script imports the sources. */
export const SOURCES = { NODE_OPTIONS: '--import tsx --conditions=flinch-source' };

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly finished: Promise<Outcome>;
}

/** Starts the command in a process; without input (`null`) its standard input stays open. */
export const start = (args: readonly string[], input?: string | null, env?: NodeJS.ProcessEnv): Running =>
  startScript(CLI_ENTRY, args, input, env);

/** Starts a program of the laboratory in a process. */
export const startLab = (args: readonly string[], input?: string | null, env?: NodeJS.ProcessEnv): Running =>
  startScript(LAB_ENTRY, args, input, env);

/** Runs `flinch` and the rest of a line of bash: pipes, files that can be read once. */
export const shell = (line: string): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)('bash', ['-c', `"${process.execPath}" "${CLI_ENTRY}" ${line}`], {
    env: { ...process.env, FORCE_COLOR: '0' },
  });

/** Starts another script of Node's. */
export const startScript = (
  script: string,
  args: readonly string[],
  input: string | null = '',
  env: NodeJS.ProcessEnv = {},
): Running => startProgram(process.execPath, [script, ...args], input, env);

/** Starts any program. */
export function startProgram(
  program: string,
  args: readonly string[],
  input: string | null,
  env: NodeJS.ProcessEnv,
): Running {
  const child = spawn(program, args, {
    env: { ...process.env, FORCE_COLOR: '0', ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  if (input !== null) child.stdin.end(input);
  const finished = new Promise<Outcome>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, stdout: () => stdout, stderr: () => stderr, finished };
}

/** Runs the command in this process, which is faster by the start of two or three processes. */
export async function flinch(
  args: readonly string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const { FLINCH, runInProcess } = await import('./in-process.js'); // unit tests need the folders alone
  return runInProcess(FLINCH, args, input, env);
}

/** The same for a program of the laboratory. */
export async function lab(
  args: readonly string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const { LAB, runInProcess } = await import('./in-process.js');
  return runInProcess(LAB, args, input, env);
}

export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** What `flinch doctor --json` says of a model. */
export const modelFacts = (stdout: string): Record<string, unknown> =>
  JSON.parse(stdout).findings.find(({ check }: Record<string, unknown>) => check === 'model').facts;

/** A folder for one test file, removed at its end. */
export function useFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    path: (name: string) => join(folder, name),
    write: (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
    read: (name: string) => readFileSync(join(folder, name), 'utf8'),
  };
}

/** Waits for an address on standard output. */
export async function addressIn({ child, stdout, stderr }: Running): Promise<string> {
  for (;;) {
    const [address] = /http:\S+[^,\s](?=[,\s])/.exec(stdout()) ?? [];
    if (address !== undefined) return address;
    if (child.exitCode !== null) throw new Error(stderr());
    await setTimeout(20);
  }
}
