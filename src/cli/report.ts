import chalk, { chalkStderr } from 'chalk';
import { ConfigError } from '../../gateway/config-layer.js';
import { JudgeError } from '../bench/judge/judge-error.js';
import type { DeviceChoice } from '../engine/device.js';
import type { Engine } from '../engine/engine.js';
import { EngineError } from '../engine/errors.js';
import type { Role } from '../engine/protocol.js';
import { ModelError, TemplateError } from '../model/errors.js';
import { SettingsError } from '../uncertainty/settings.js';

/** Errors that a user can do something about, in one line; others with their stack, for a report. */
export function reportError(error: unknown): void {
  const text = error instanceof Error ? (isKnown(error) ? error.message : error.stack) : String(error);
  process.stderr.write(`${chalkStderr.red('flinch:')} ${text}\n`);
}

/** Our own errors, and Node's of the system: a file that is not there, a port that is taken. */
function isKnown(error: Error): boolean {
  const kinds = [ModelError, TemplateError, EngineError, SettingsError, UsageError, ConfigError, JudgeError];
  return kinds.some((kind) => error instanceof kind) || 'syscall' in error;
}

/** Options or input that cannot be used; the message names which. */
export class UsageError extends Error {
  readonly type = 'usage';
}

/** What the processes of an engine that run compute on. */
export function formatDevices(engine: Engine): string {
  const { decode, score } = engine.status();
  if (decode.device && score.device && decode.device !== score.device)
    return `${decode.device} (writing) and ${score.device} (scoring)`;
  return decode.device ?? score.device ?? 'no device';
}

/** Starts an engine on other than the default and says on standard error what it runs on. */
export async function reportDevices(
  engine: Engine,
  choice: DeviceChoice,
  roles: readonly Role[],
): Promise<void> {
  if (choice === 'cpu') return;
  await engine.start(roles);
  process.stderr.write(`flinch: on ${formatDevices(engine)}\n`);
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
