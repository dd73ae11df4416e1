import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ModelError, placeOf, reasonOf, show } from './errors.js';

/** Larger than any configuration or tokenizer: Gemma's tokenizer.json, one of the largest, has 33 MB. */
const MAX_BYTES = 256 * 2 ** 20;

/**
 * Checks a JSON value against a schema.
 *
 * @param at where in the file the value is
 * @throws ModelError naming the first field that does not fit
 */
export function parseJson<T extends z.ZodType>(
  schema: T,
  json: unknown,
  file: string,
  at: readonly PropertyKey[] = [],
): z.output<T> {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new ModelError(
    file,
    fieldName([...at, ...(issue?.path ?? [])]),
    problemOf(issue?.message ?? 'is not valid'),
  );
}

/** A name out of a list; any other is refused with the list. */
export function oneOf<const T extends readonly string[]>(supported: T) {
  return z.enum(supported, {
    error: ({ input }) =>
      input === undefined
        ? 'is missing'
        : `${show(input)} is not supported (supported: ${supported.join(', ')})`,
  });
}

/** `['decoders', 0, 'type']` → `decoders[0].type`. */
export function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}

/** zod writes "Invalid input: expected number, received undefined". */
function problemOf(message: string): string {
  const problem = message.replace(/^Invalid input: /, '');
  return problem.endsWith('received undefined') ? `is missing (${problem.split(',')[0]})` : problem;
}

/**
 * Decodes the bytes of a JSON file.
 *
 * @throws ModelError for bytes that are not UTF-8, or not JSON
 */
export function decodeJson(bytes: Uint8Array, file: string, field = ''): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ModelError(file, field, `is not JSON in UTF-8${placeOf(cause)}`);
  }
}

/**
 * Reads a JSON file of a checkpoint.
 *
 * @throws ModelError for a file that is missing, unreadable or not JSON
 */
export async function readJson(dir: string, name: string): Promise<unknown> {
  const json = await readOptionalJson(dir, name);
  if (json === undefined) throw new ModelError(join(dir, name), '', 'the file is missing');
  return json;
}

/** As `readJson`, for a file that a checkpoint need not have: `undefined` where it is missing. */
export async function readOptionalJson(dir: string, name: string): Promise<unknown> {
  const bytes = await readOptional(dir, name);
  return bytes && decodeJson(bytes, join(dir, name));
}

/**
 * Reads a small file of a checkpoint; `undefined` where it is missing.
 *
 * @throws ModelError for a file that is there but cannot be read, or is no regular file (a pipe would never end)
 */
export async function readOptional(dir: string, name: string): Promise<Uint8Array | undefined> {
  const path = join(dir, name);
  try {
    const info = await stat(path);
    if (!info.isFile()) throw new ModelError(path, '', 'is not a file');
    if (info.size > MAX_BYTES)
      throw new ModelError(path, '', `has ${info.size} bytes (at most ${MAX_BYTES})`);
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    if (isMissing(cause)) return undefined;
    throw new ModelError(path, '', `cannot be read (${reasonOf(cause)})`, { cause });
  }
}

/** Whether an error of `node:fs` says that there is no such file. A dangling symbolic link counts as missing. */
export function isMissing(thrown: unknown): boolean {
  return (
    thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR')
  );
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
