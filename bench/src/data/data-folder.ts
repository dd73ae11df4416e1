import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { SuiteName } from '../suites/suite.js';

/** Default folder of data sets, without `--data`, according to the XDG specification. */
export function defaultDataFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'flinch');
}

/** The folder of a suite in a folder of data; the folder itself where it has none for the suite. */
export function suiteFolder(dataFolder: string, suite: SuiteName): string {
  const own = join(dataFolder, suite);
  return existsSync(own) ? own : dataFolder;
}
