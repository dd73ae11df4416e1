import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from 'flinch/internals';

/**
 * For files that are written anew each time.
 * @param marked the file which shows that flinch wrote all of them: by `mark`, which it contains
 * @throws UsageError where one of the names is there and somebody else's
 */
export function refuseForeign(folder: string, names: readonly string[], marked: string, mark: string): void {
  const shows = join(folder, marked);
  if (existsSync(shows) && readFileSync(shows, 'utf8').includes(mark)) return;
  const foreign = names.map((name) => join(folder, name)).find((file) => existsSync(file));
  if (foreign !== undefined)
    throw new UsageError(`--out: ${foreign} is there, but not of flinch: move it, or choose another folder`);
}
