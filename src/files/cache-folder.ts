import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder for files that can be made again, outside of every project. */
export const cacheFolder = (): string => {
  const { XDG_CACHE_HOME } = process.env;
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'flinch');
};
