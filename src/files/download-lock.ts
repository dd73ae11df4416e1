import { UsageError } from './errors.js';
import { lockFolder } from './folder-lock.js';

/**
 * Has a folder for one download at a time, over all processes.
 * @returns what gives it back
 * @throws UsageError where another one runs
 */
export const lockDownloads = (folder: string): Promise<() => Promise<void>> =>
  lockFolder(folder, {
    name: '.pull',
    onLost: (cause) => {
      throw cause;
    },
    inUse: (who) => new UsageError(`${folder}: ${who} downloads there; wait for it or stop it`),
  });
