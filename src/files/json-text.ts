import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { placeOf, UsageError } from './file-errors.js';
import { excessOf } from './json-bounds.js';
import { visibleLine } from './visible.js';

/** Reads JSON. @throws SyntaxError */
export type Parse = (text: string) => unknown;

const MAX_BYTES = 2 ** 27;
/** Values, and names of fields. */
const MAX_VALUES = 2 ** 22;

/**
 * A value of a file that a user can change. Windows' programs begin some with a byte order mark.
 * @param where to look, which errors begin with
 * @param parse e.g. `parseExactJson`, where a number's digits count
 * @throws UsageError that names the first field that does not fit
 */
export function parseJsonText<T>(
  text: string,
  schema: z.ZodType<T>,
  where: string,
  parse: Parse = JSON.parse,
): T {
  const result = schema.safeParse(decode(text, where, parse));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.length ? `${z.core.toDotPath(issue.path)}: ` : '';
  throw new UsageError(visibleLine(`${where}: ${field}${issue?.message}`));
}

/**
 * Reads JSON Lines; blank lines are left out.
 * @param where to look, which errors begin with
 * @throws UsageError that names the first line and field that do not fit
 */
export function parseJsonLines<T>(text: string, schema: z.ZodType<T>, where?: string, parse?: Parse): T[] {
  const place = where === undefined ? '' : `${where}: `;
  const values: T[] = [];
  // Line by line: a text of line ends alone would become a list of as many strings.
  for (let [start, number] = [0, 1]; start < text.length; number += 1) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end < 0 ? text.length : end);
    if (line.trim() !== '') values.push(parseJsonText(line, schema, `${place}line ${number}`, parse));
    start += line.length + 1;
  }
  return values;
}

/** @throws UsageError that names file and field */
export function readJsonFile<T>(file: string, schema: z.ZodType<T>): T {
  const { size } = statSync(file);
  if (size > MAX_BYTES) throw new UsageError(`${file}: has ${size} bytes (at most ${MAX_BYTES})`);
  return parseJsonText(readFileSync(file, 'utf8'), schema, file);
}

function decode(text: string, where: string, parse: Parse): unknown {
  const excess = excessOf(text, { values: MAX_VALUES });
  if (excess !== null) throw new UsageError(`${where}: ${excess}`);
  try {
    return parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new UsageError(`${where}: is not valid JSON${placeOf(cause)}`);
  }
}
