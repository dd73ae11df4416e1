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
  try {
    return await load();
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!missing || !error.message.includes(`'${name}'`)) throw error;
    throw new UsageError(`${what} is a separate package. Install it: npm install ${name}`);
  }
}
