import { type FileHandle, open } from 'node:fs/promises';
import { ModelError, reasonOf } from '../files/errors.js';

/** Opens a file of weights that was there before. Throws ModelError if it cannot be read any more. */
export async function openWeights(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (cause) {
    throw new ModelError(file, '', `cannot be read (${reasonOf(cause)})`, { cause });
  }
}
