import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { placeOf, UsageError } from './errors.js';
import { visibleLine } from './visible.js';

/**
 * A value of a file that a user can change.
 * @param where to look, which errors begin with
 * @throws UsageError that names the first field that does not fit
 */
export function parseJsonText<T>(text: string, schema: z.ZodType<T>, where: string): T {
  const result = schema.safeParse(decode(text, where));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.length ? `${z.core.toDotPath(issue.path)}: ` : '';
  throw new UsageError(visibleLine(`${where}: ${field}${issue?.message}`));
}

/** @throws UsageError that names file and field */
export const readJsonFile = <T>(file: string, schema: z.ZodType<T>): T =>
  parseJsonText(readFileSync(file, 'utf8'), schema, file);

function decode(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${where}: is not valid JSON${placeOf(cause)}`);
  }
}
