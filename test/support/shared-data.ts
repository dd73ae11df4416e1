import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Copies of the public data sets beside the repository; tests that need them are skipped elsewhere. */
export const SHARED_DATA = fileURLToPath(new URL('../../../shared/data/', import.meta.url));
export const HAS_SHARED_DATA = existsSync(SHARED_DATA);
/** Suffix for the names of tests that are skipped. */
export const NEEDS_DATA = HAS_SHARED_DATA ? '' : ' (skipped: ../shared/data is not there)';

export const readShared = (path: string): string => readFileSync(SHARED_DATA + path, 'utf8');

export const sharedLines = (path: string): unknown[] =>
  readShared(path)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

export const sharedFiles = (folder: string, end: string): string[] =>
  readdirSync(SHARED_DATA + folder).filter((file) => file.endsWith(end));
