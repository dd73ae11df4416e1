import { homedir } from 'node:os';
import { join } from 'node:path';

/** What can be made again is kept there, outside of every project. */
export const cacheFolder = (): string => {
  const { XDG_CACHE_HOME } = process.env;
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'flinch');
};
