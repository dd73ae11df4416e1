import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isMissing } from './json.js';

/** The user's folder for files that can be made again, outside of every project. */
export const userCache = (): string => {
  const { XDG_CACHE_HOME } = process.env;
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'flinch');
};

/**
 * A folder in the user's cache. If it is not there and cannot be made, as on a read-only root, it is one of this user among
 * temporary files: on disk, or in memory. If that cannot be made either, it is the one in the user's cache after all.
 */
export function cacheFolder(...names: readonly string[]): string {
  const folder = join(userCache(), ...names);
  if (existsSync(folder) || isWritable(folder)) return folder;
  const temporary = temporaryCache();
  return temporary === null ? folder : join(temporary, ...names);
}

/** `null` if no temporary file can be written. */
export const temporaryCache = (): string | null => ownFolder(tmpdir()) ?? ownFolder(SHARED_MEMORY);

/** A tmpfs that Linux and containers have beside a read-only root; of 64 MB in a container, if nobody says otherwise. */
const SHARED_MEMORY = '/dev/shm';

/** `null` if there is none, or if somebody else made it: what they put there would be read as weights. */
function ownFolder(parent: string): string | null {
  const uid = process.getuid?.();
  const folder = join(parent, `flinch-${uid ?? 'cache'}`);
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    const found = lstatSync(folder);
    const isOwn = uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0);
    return found.isDirectory() && isOwn && isWritable(folder) ? folder : null;
  } catch {
    return null; // a place that is not writable is passed over
  }
}

/** Whether a folder can be written, or made. */
export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch (error) {
    return isMissing(error) && dirname(folder) !== folder && isWritable(dirname(folder));
  }
}
