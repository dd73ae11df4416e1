import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The folder of the package `flinch`, whether compiled files or the sources run. */
export const PACKAGE_ROOT = dirname(createRequire(import.meta.url).resolve('flinch/package.json'));

/** The folder of the model that comes with flinch. */
export const reasonerPath = join(PACKAGE_ROOT, 'models/reasoner');

/** Calibrations of known models, each named by the fingerprint of its model. */
export const calibrationsPath = join(PACKAGE_ROOT, 'models/calibrations');

/** Prompts of many kinds, for a model without prompts of its own. */
export const calibrationPromptsPath = join(PACKAGE_ROOT, 'models/calibration-prompts.jsonl');

export const packageVersion = (): string =>
  String(JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')).version);
