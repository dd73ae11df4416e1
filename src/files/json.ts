import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ModelError, placeOf, show, unreadable } from './file-errors.js';
import { excessOf } from './json-bounds.js';

interface FileLimits {
  readonly bytes: number;
  /** Values, and names of fields. Each takes up to 100 bytes of memory, and 300 more if a schema refuses it. */
  readonly values: number;
}

const LIMITS: FileLimits = { bytes: 2 ** 24, values: 2 ** 18 };
const LARGER = new Map<string, FileLimits>([
  // Gemma 3's has 33 MB: 262,144 tokens and 514,906 merges, which are 2.2 million names and values.
  ['tokenizer.json', { bytes: 2 ** 26, values: 3 * 2 ** 20 }],
  // Mixtures of experts have 100,000 tensors, each with the name of its file.
  ['model.safetensors.index.json', { bytes: 2 ** 25, values: 2 ** 19 }],
]);
const limitsOf = (name: string): FileLimits => LARGER.get(name) ?? LIMITS;

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
  const words = problemOf(issue?.message ?? 'is not valid');
  throw new ModelError(file, fieldName([...at, ...(issue?.path ?? [])]), words);
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
 * @param most how many names and values it may have
 * @throws ModelError for bytes that are not UTF-8, or not JSON, and for too many values
 */
export function decodeJson(bytes: Uint8Array, file: string, field = '', most = LIMITS.values): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const excess = excessOf(text, { values: most });
    if (excess === null) return JSON.parse(text);
    throw new ModelError(file, field, excess);
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(file, field, `is not JSON in UTF-8${placeOf(cause)}`);
  }
}

/**
 * Reads a JSON file of a checkpoint.
 *
 * @throws ModelError for a file that is missing, unreadable, too large or not JSON
 */
export async function readJson(dir: string, name: string): Promise<unknown> {
  return decode(await readNeeded(dir, name), dir, name);
}

/** Same as `readJson`, for an optional file of a checkpoint: `undefined` if it is missing. */
export async function readOptionalJson(dir: string, name: string): Promise<unknown> {
  const bytes = await readOptional(dir, name);
  return bytes && decode(bytes, dir, name);
}

const decode = (bytes: Uint8Array, dir: string, name: string): unknown =>
  decodeJson(bytes, join(dir, name), '', limitsOf(name).values);

/** @throws ModelError as `readOptional` does, and for a file that is missing */
export async function readNeeded(dir: string, name: string): Promise<Uint8Array> {
  const bytes = await readOptional(dir, name);
  if (bytes === undefined) throw new ModelError(join(dir, name), '', 'the file is missing');
  return bytes;
}

/**
 * Reads a small file of a checkpoint; `undefined` where it is missing.
 *
 * @throws ModelError for a file that is there but cannot be read, is too large, or is no regular file (a pipe would never end)
 */
export async function readOptional(dir: string, name: string): Promise<Uint8Array | undefined> {
  const path = join(dir, name);
  const { bytes } = limitsOf(name);
  try {
    const info = await stat(path);
    if (!info.isFile()) throw new ModelError(path, '', 'is not a file');
    if (info.size > bytes) throw new ModelError(path, '', `has ${info.size} bytes (at most ${bytes})`);
    return await readFile(path);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadable(path, cause);
  }
}

/** How many values there are in a value, itself among them. */
export function valuesIn(json: unknown): number {
  const left = [json];
  let count = 0;
  for (; left.length > 0; count += 1) {
    const value = left.pop();
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) left.push(part);
  }
  return count;
}

/** Whether an error of `node:fs` says that there is no such file. A dangling symbolic link counts as missing. */
export function isMissing(thrown: unknown): boolean {
  return (
    thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR')
  );
}

/** Bytes of a file; `null` where there is nothing, or nothing that can be looked at. */
export const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  );

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
