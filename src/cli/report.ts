import chalk, { chalkStderr } from 'chalk';
import { EngineError } from '../engine/errors.js';
import { ModelError } from '../model/errors.js';

/** Errors that a user can do something about, in one line; others with their stack, for a report. */
export function reportError(error: unknown): void {
  const known = error instanceof ModelError || error instanceof EngineError || error instanceof UsageError;
  const text =
    error instanceof Error ? (known || isSystemError(error) ? error.message : error.stack) : String(error);
  process.stderr.write(`${chalkStderr.red('flinch:')} ${text}\n`);
}

/** Options or input that cannot be used; the message names which. */
export class UsageError extends Error {
  readonly type = 'usage';
}

/** A file that is not there, a port that is taken: Node's own message says it. */
function isSystemError(error: Error): boolean {
  return 'syscall' in error;
}

/** Bytes as people read them. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const heading = (text: string): string => chalk.bold(text);
