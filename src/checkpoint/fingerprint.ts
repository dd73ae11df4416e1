import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { readNeeded } from '../files/json.js';
import { GGUF_MAGIC } from './gguf/header.js';
import { readAt, withFile } from './read-file.js';
import { PREFIX, parseHeaderLength } from './safetensors-header.js';
import { filesOf, type Weights } from './weights.js';

interface Files {
  readonly dir: string;
  readonly tensors: Weights;
}

const SAMPLE = 2 ** 20;

const known = new WeakMap<object, Promise<string>>();

/**
 * Identity of a model: a SHA-256 over config.json, tokenizer.json and, of each file of weights, its size, its
 * header and 1 MiB at its start, middle and end (reading gigabytes at every start would take too long).
 * Computed once for a checkpoint. Names and folders do not matter.
 *
 * @returns hexadecimal digits
 * @throws ModelError for a file that cannot be read any more
 */
export function fingerprint(checkpoint: Files): Promise<string> {
  let result = known.get(checkpoint);
  if (!result) {
    result = compute(checkpoint);
    known.set(checkpoint, result);
    result.catch(() => known.delete(checkpoint)); // the next call may find the file again
  }
  return result;
}

async function compute({ dir, tensors }: Files): Promise<string> {
  const parts: string[] = [];
  for (const name of ['config.json', 'tokenizer.json']) parts.push(digest([await readNeeded(dir, name)]));
  return digestWeights([...tensors.values()].flatMap(filesOf), parts);
}

/**
 * SHA-256, in hexadecimal digits, of samples of some files of weights. Their order does not matter: in the cache of
 * Hugging Face the files have other names, and so another order.
 * @param parts what else tells them from others
 */
export async function digestWeights(files: readonly string[], parts: readonly string[]): Promise<string> {
  const weights: string[] = [];
  for (const file of new Set(files)) {
    const sampled = await digestLarge(file, async (handle, size) => {
      const prefix = await readAt(handle, 0, PREFIX);
      // The metadata of a GGUF file are in config.json already: nothing counts whole.
      const isGguf = Buffer.from(prefix).toString('latin1').startsWith(GGUF_MAGIC);
      return isGguf ? 0 : PREFIX + parseHeaderLength(prefix, size, file);
    });
    weights.push(sampled);
  }
  return digest([[...parts, ...weights.toSorted()].join('\n')]);
}

/**
 * SHA-256, in hexadecimal digits, of a file's size and of 1 MiB at its start, middle and end.
 * @param headerOf bytes at the start that count whole
 */
export const digestLarge = (
  file: string,
  headerOf: (handle: FileHandle, size: number) => Promise<number> = async () => 0,
): Promise<string> =>
  withFile(file, async (handle) => {
    const { size } = await handle.stat();
    const header = await headerOf(handle, size);
    const starts = [0, Math.max(0, Math.floor((size - SAMPLE) / 2)), Math.max(0, size - SAMPLE)];
    const samples = [await readAt(handle, 0, header)];
    for (const start of starts) samples.push(await readAt(handle, start, SAMPLE));
    return digest([`${size}\n`, ...samples]);
  });

function digest(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
