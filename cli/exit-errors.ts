import { ConfigError } from '../gateway/config/config-error.js';
import { EngineError } from '../src/engine/engine-errors.js';
import { ModelError, TemplateError, TextLimitError, UsageError } from '../src/files/file-errors.js';
import { SettingsError } from '../src/uncertainty/settings.js';
import { complain } from './terminal.js';

/** Errors that a user can do something about, in one line; others with their stack, for a report. */
export const reportError = (error: unknown): void => complain(textOf(error));

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return listenProblem(error) ?? (isKnown(error) ? error.message : (error.stack ?? error.message));
}

/** Why an address cannot be listened on, and what to do about it; `null` for other errors. */
export function listenProblem(
  error: NodeJS.ErrnoException & { address?: string; port?: number },
): string | null {
  // A worker asks its primary process to bind the address.
  if (!/^(listen|bind)$/.test(error.syscall ?? '') || error.address === undefined) return null;
  const { address, port, code } = error;
  const endpoint = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${endpoint} is in use by another program; stop it, or choose another port with --port (of /metrics: --metrics-port, of probes: --health-port)`;
    case 'EADDRNOTAVAIL':
      return `${endpoint} is not an address of this machine; choose one with --host`;
    case 'EACCES':
      return `this user may not listen on ${endpoint}; choose a port from 1024 with --port`;
    default:
      return null;
  }
}

/** Our own errors, and Node's of the system, such as a disk that is full. */
function isKnown(error: Error): boolean {
  const kinds = [
    ModelError,
    TemplateError,
    TextLimitError,
    EngineError,
    SettingsError,
    UsageError,
    ConfigError,
  ];
  return kinds.some((kind) => error instanceof kind) || 'syscall' in error;
}
