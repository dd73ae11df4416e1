import { chalkStderr } from 'chalk';
import { ConfigError } from '../../gateway/config/config-error.js';
import { EngineError } from '../engine/errors.js';
import { ModelError, TemplateError, UsageError } from '../files/errors.js';
import { SettingsError } from '../uncertainty/settings.js';

/** Errors that a user can do something about, in one line; others with their stack, for a report. */
export function reportError(error: unknown): void {
  const text = error instanceof Error ? (isKnown(error) ? error.message : error.stack) : String(error);
  process.stderr.write(`${chalkStderr.red('flinch:')} ${text}\n`);
}

/** Our own errors, and Node's of the system: a file that is not there, a port that is taken. */
function isKnown(error: Error): boolean {
  const kinds = [ModelError, TemplateError, EngineError, SettingsError, UsageError, ConfigError];
  return kinds.some((kind) => error instanceof kind) || 'syscall' in error;
}
