import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Lends work a folder that is gone afterwards, also when the work is interrupted. */
export async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  // The handlers first, then the folder: a signal between the two would leave it behind.
  let folder: string | undefined;
  const remove = (): void => {
    if (folder) rmSync(folder, { recursive: true, force: true });
  };
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.once('exit', remove).once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    folder = mkdtempSync(join(tmpdir(), 'flinch-bench-'));
    return await work(folder);
  } finally {
    remove();
    process.off('exit', remove).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
