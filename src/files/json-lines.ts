import type { z } from 'zod';
import { type Parse, parseJsonText } from './json-text.js';

/**
 * Reads JSON Lines; blank lines are left out.
 * @throws UsageError that names the first line and field that do not fit
 */
export function parseJsonLines<T>(text: string, schema: z.ZodType<T>, parse?: Parse): T[] {
  const values: T[] = [];
  // Line by line: a text of line ends alone would become a list of as many strings.
  for (let [start, number] = [0, 1]; start < text.length; number += 1) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end < 0 ? text.length : end);
    if (line.trim() !== '') values.push(parseJsonText(line, schema, `line ${number}`, parse));
    start += line.length + 1;
  }
  return values;
}
