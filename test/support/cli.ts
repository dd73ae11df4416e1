import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

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

/** Starts the command as a user does; without input (`null`) its standard input stays open. */
export const start = (args: readonly string[], input?: string | null, env?: NodeJS.ProcessEnv): Running =>
  startScript(MAIN, args, input, env);

/** The same for another script of Node's. */
export function startScript(
  script: string,
  args: readonly string[],
  input: string | null = '',
  env: NodeJS.ProcessEnv = {},
): Running {
  const child = spawn(process.execPath, [script, ...args], {
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

export const flinch = (args: readonly string[], input?: string, env?: NodeJS.ProcessEnv): Promise<Outcome> =>
  start(args, input, env).finished;

export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

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
