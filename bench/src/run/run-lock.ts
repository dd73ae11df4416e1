import { lockFolder as lock, UsageError } from 'flinch/internals';

const NAME = '.run';

/**
 * Keeps a folder of results for one process.
 * @param onLost another process took it over, as this one did not run for so long
 * @param option that named the folder, for messages
 * @returns the release
 * @throws UsageError where another process has it
 */
export const lockFolder = (
  folder: string,
  onLost: (error: Error) => void,
  option = '--out',
): Promise<() => Promise<void>> =>
  lock(folder, {
    name: NAME,
    onLost: (cause) =>
      onLost(new UsageError(`${option}: ${folder} was taken over by another process`, { cause })),
    inUse: (who) => new UsageError(`${option}: ${folder} is in use by ${who}; wait for it or stop it`),
  });
