import { UsageError } from '#src/files/errors.js';
import { DISK_FULL } from './run-program.js';

/** Errors of a program or of a server tell what they are of; others are of the system. */
export function explained(name: string, error: unknown): unknown {
  if (error instanceof UsageError) {
    const full = /ENOSPC|EDQUOT/.test(error.message) ? ` ${DISK_FULL}` : '';
    return new UsageError(`${name}: ${error.message}${full}`, { cause: error });
  }
  if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT'))
    return new UsageError(`${name}: ${error.message}. ${DISK_FULL}`, { cause: error });
  return error;
}
