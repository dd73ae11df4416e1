import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError, unreadable } from '../files/file-errors.js';
import { isMissing } from '../files/json.js';
import { isGguf } from './gguf/open-gguf.js';

/**
 * Whether a model is a GGUF file, and no folder.
 * @throws ModelError for what is neither
 */
export async function isGgufFile(path: string): Promise<boolean> {
  const info = await stat(path).catch(failing(path));
  if (info.isDirectory()) return false;
  if (info.isFile() && (await isGguf(path))) return true;
  throw new ModelError(path, '', 'is neither a folder nor a GGUF file');
}

/**
 * Paths of the GGUF files in a folder that is no checkpoint; each of them is a model. None for a checkpoint.
 * @throws ModelError for a folder that is missing or cannot be read
 */
export async function ggufFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(failing(folder));
  if (names.includes('config.json')) return [];
  return names
    .filter((name) => /\.gguf$/i.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** The name of the model whose snapshot in the cache of the Hugging Face hub a folder is; `null` for others. */
export const snapshotName = (folder: string): string | null =>
  /[\\/]models--[^\\/]+--([^\\/]+)[\\/]snapshots[\\/][^\\/]+$/.exec(folder)?.[1] ?? null;

const failing =
  (path: string) =>
  (cause: unknown): never => {
    throw isMissing(cause) ? new ModelError(path, '', 'no such file or folder') : unreadable(path, cause);
  };
