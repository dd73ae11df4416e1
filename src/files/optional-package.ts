import { createRequire } from 'node:module';
import { UsageError } from './file-errors.js';

/**
 * Loads a package that few users need, and that is not installed with flinch.
 * @param what name of the feature, for the error
 * @param load imports the package by a variable, so that the compiler does not look for it
 * @throws UsageError for a package that is not installed
 */
export async function optionalPackage<Exports>(
  what: string,
  name: string,
  load: () => Promise<Exports>,
): Promise<Exports> {
  try {
    createRequire(import.meta.url).resolve(`${name}/package.json`);
  } catch {
    // Packages are not on the npm registry yet (docs/how-to/install.md).
    throw new UsageError(
      `${what} needs the package ${name}. In a clone of flinch, run: npm pack --workspace ${name}. Then, here: npm install CLONE/${name}-*.tgz`,
    );
  }
  return load();
}
