import { Readable, Writable } from 'node:stream';
import chalk, { type ColorSupportLevel, chalkStderr } from 'chalk';
import { type Command, CommanderError } from 'commander';
import { CLI_ENTRY } from '#cli/entry.js';
import { reportError } from '#cli/exit-errors.js';
import { flinchProgram } from '#cli/program.js';
import { note, type Streams, say, useStreams } from '#cli/terminal.js';
import { labProgram } from '#lab/lab-program.js';
import { Engine } from '#src/engine/engine.js';
import { packageVersion } from '#src/package-root.js';
import type { Outcome } from './cli.js';
import { openShared } from './shared-engines.js';

/** Makes the program whose words these are. */
export type Program = (words: readonly string[], streams: Streams) => Promise<Command>;

export const FLINCH: Program = (words, streams) => flinchProgram(packageVersion(), words, streams);
export const LAB: Program = async ([name], streams) => {
  useStreams(streams);
  return throwOnExit(await labProgram(name));
};

/** Commands take turns: they use the variables of this process. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs a command as `main.ts` does, but in this process, and with engines that the commands of a test file share.
 * Signals, closed pipes and `process.exit` need a process of their own: `start`.
 */
export function runInProcess(
  program: Program,
  args: readonly string[],
  input: string,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  const outcome = turn.then(() => run(program, args, input, env));
  turn = outcome.catch(() => {});
  return outcome;
}

async function run(
  load: Program,
  args: readonly string[],
  input: string,
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const level: ColorSupportLevel = env.FORCE_COLOR === '3' ? 3 : 0;
  const { exitCode } = process;
  process.exitCode = undefined;
  const undo = [
    replace(process, 'argv', [process.execPath, CLI_ENTRY, ...args]),
    replace(process, 'env', { ...process.env, ...env }),
    replace(Engine, 'open', openShared),
  ];
  for (const colours of [chalk, chalkStderr]) colours.level = level;
  const listeners = SIGNALS.map((signal) => process.listeners(signal));
  try {
    const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)]);
    const program = await load(args, { stdin, stdout, stderr });
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else {
      reportError(error);
      process.exitCode ??= 1;
    }
  }
  const code = Number(process.exitCode ?? 0);
  process.exitCode = exitCode;
  for (const restore of undo) restore();
  useStreams(process);
  for (const [i, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!listeners[i]?.includes(listener)) process.off(signal, listener);
    }
  }
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Keeps what is written to it. */
class Sink extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** @returns what undoes it */
function replace<T extends object, K extends keyof T>(owner: T, name: K, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name)!;
  Object.defineProperty(owner, name, { value, configurable: true, writable: true, enumerable: true });
  return () => void Object.defineProperty(owner, name, before);
}

/** Has a program written for a process of its own end with an error, and write to the streams in use. */
function throwOnExit(command: Command): Command {
  for (const subcommand of command.commands) throwOnExit(subcommand);
  return command.exitOverride().configureOutput({ writeOut: say, writeErr: note });
}
