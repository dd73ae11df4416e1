import type { z } from 'zod';
import { parseJsonText } from './json-text.js';

/**
 * Reads JSON Lines; blank lines are left out.
 * @throws UsageError that names the first line and field that do not fit
 */
export function parseJsonLines<T>(text: string, schema: z.ZodType<T>): T[] {
  return text
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [parseJsonText(line, schema, `line ${i + 1}`)]));
}
