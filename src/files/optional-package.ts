import { createRequire } from 'node:module';
import { UsageError } from './errors.js';

/**
 * What a package exports that flinch does without, for most have no use for it.
 * @param what is in it, for whoever has to install it
 * @param load imports it, by a variable: the compiler is not to look for it
 * @throws UsageError where it is not installed
 */
export async function optionalPackage<Exports>(
  what: string,
  name: string,
  load: () => Promise<Exports>,
): Promise<Exports> {
  checkInstalled(what, name);
  return load();
}

/** @throws UsageError for a package that is not installed */
export function checkInstalled(what: string, name: string): void {
  try {
    createRequire(import.meta.url).resolve(`${name}/package.json`);
  } catch {
    throw new UsageError(`${what} is a separate package. Install it: npm install ${name}`);
  }
}
