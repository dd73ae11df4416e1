import { join } from 'node:path';
import lockfile from 'proper-lockfile';
import { UsageError } from './errors.js';

/**
 * Has a folder for one download at a time, over all processes.
 * @returns what gives it back
 * @throws UsageError where another one runs
 */
export async function lockDownloads(folder: string): Promise<() => Promise<void>> {
  try {
    return await lockfile.lock(folder, { lockfilePath: join(folder, '.pull.lock'), stale: 30_000 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ELOCKED')) throw error;
    throw new UsageError(`${folder}: another download is running there`);
  }
}
