import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonLines, parseJsonText, UsageError } from 'flinch/internals';
import type { z } from 'zod';
import type { SuiteName, SuiteSource } from './suite.js';

/** The folder of a suite that needs one. @throws UsageError without it */
export function neededFolder(suite: SuiteName, { folder }: SuiteSource): string {
  if (folder !== null) return folder;
  throw new UsageError(
    `--data: the suite ${suite} reads files; \`flinch data pull ${suite}\` downloads them`,
  );
}

/** @throws UsageError that says how to get a file that is not there */
export async function readDataFile(suite: SuiteName, folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  if (existsSync(path)) return readFile(path, 'utf8');
  throw new UsageError(`${path}: file not found; \`flinch data pull ${suite}\` downloads it`);
}

/** Rows of JSON Lines. @throws UsageError that names file, line and field */
export const readRows = async <T>(
  suite: SuiteName,
  folder: string,
  file: string,
  schema: z.ZodType<T>,
): Promise<T[]> => parseJsonLines(await readDataFile(suite, folder, file), schema, join(folder, file));

/** One JSON value. @throws UsageError that names file and field */
export async function readJson<T>(
  suite: SuiteName,
  folder: string,
  file: string,
  schema: z.ZodType<T>,
): Promise<T> {
  return parseJsonText(await readDataFile(suite, folder, file), schema, join(folder, file));
}

/**
 * All results are kept by the problem's id.
 * @param rows each with where it is, for the error
 * @throws UsageError that names both rows of an id
 */
export function refuseRepeated(rows: readonly { readonly id: string; readonly place: string }[]): void {
  const first = new Map<string, string>();
  for (const { id, place } of rows) {
    const before = first.get(id);
    if (before !== undefined)
      throw new UsageError(`${place}: the id ${JSON.stringify(id)} is also that of ${before}`);
    first.set(id, place);
  }
}

/** The subsets that were asked for, in the order of all; all of them without a wish. @throws UsageError for others */
export function chosenSubsets<T extends string>(
  all: readonly T[],
  wanted: readonly string[] | null,
): readonly T[] {
  const unknown = wanted?.find((name) => !all.some((known) => known === name));
  if (unknown !== undefined) throw new UsageError(`"${unknown}" is not one of the subsets ${all.join(', ')}`);
  return wanted === null ? all : all.filter((name) => wanted.includes(name));
}
