import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from 'flinch/internals';

/**
 * For files that are written anew each time.
 * @throws UsageError where one of the names is there, so that it is somebody else's
 */
export function refuseForeign(folder: string, names: Iterable<string>): void {
  const foreign = [...names].map((name) => join(folder, name)).find((file) => existsSync(file));
  if (foreign !== undefined)
    throw new UsageError(`--out: ${foreign} is there, but not of flinch: move it, or choose another folder`);
}
