import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../src/files/file-errors.js';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'no such file or folder',
  EISDIR: 'a folder, not a file',
  EEXIST: 'exists already',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EROFS: 'on a read-only file system',
};

/**
 * Result of opening a file that an option names. @throws UsageError that names both, if it cannot be opened
 */
export async function optionFile<T>(option: string, file: string, opened: Promise<T>): Promise<T> {
  try {
    return await opened;
  } catch (error) {
    const problem = problemOf(error);
    throw problem === null ? error : new UsageError(`${option}: ${file}: ${problem}`, { cause: error });
  }
}

/** @throws UsageError if the folder of a file that is to be written is missing or read-only */
export async function writableFolder(option: string, file: string): Promise<void> {
  const folder = dirname(file);
  await optionFile(option, folder, access(folder, constants.W_OK));
}

const problemOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error ? (PROBLEMS[String(error.code)] ?? null) : null;
