import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const ROOT = createRequire(import.meta.url).resolve('flinch-bench/package.json');

/** A file of bench/assets. */
export const readAsset = (name: string): string =>
  readFileSync(new URL(`assets/${name}`, `file://${ROOT}`), 'utf8');
