import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the package `flinch`, whether compiled files or the sources run. */
export const PACKAGE_ROOT = dirname(createRequire(import.meta.url).resolve('flinch/package.json'));

/** The folder of the model that comes with flinch. */
export const reasonerPath = join(PACKAGE_ROOT, 'models/reasoner');

/** Prompts of many kinds, for a model without prompts of its own. */
export const everydayPromptsPath = join(PACKAGE_ROOT, 'models/everyday-prompts.jsonl');

export const packageVersion = (): string =>
  String(JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')).version);

/** The entry of the command `flinch`, for callers that start it as a process. */
export const CLI_ENTRY = fileURLToPath(new URL(`./cli/main${extname(import.meta.url)}`, import.meta.url));
