import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Lends work a folder that is gone afterwards, also when the work is interrupted. */
export async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'flinch-bench-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.once('exit', remove).once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(folder);
  } finally {
    remove();
    process.off('exit', remove).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
