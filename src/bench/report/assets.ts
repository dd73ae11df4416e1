import { readFileSync } from 'node:fs';

/** Files beside the sources, which the compiler does not copy; the package has them too. */
const FOLDER = new URL('../../../../src/bench/report/assets/', import.meta.url);

export const readAsset = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
