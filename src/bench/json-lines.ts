import { z } from 'zod';
import { UsageError } from '../cli/report.js';

/**
 * Reads JSON Lines; blank lines are left out.
 * @throws UsageError that names the first line and field that do not fit
 */
export function parseJsonLines<T>(text: string, schema: z.ZodType<T>): T[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return [];
    const result = schema.safeParse(parseJson(line, i + 1));
    if (result.success) return [result.data];
    const [issue] = result.error.issues;
    const where = issue?.path.length ? `${z.core.toDotPath(issue.path)}: ` : '';
    throw new UsageError(`line ${i + 1}: ${where}${issue?.message}`);
  });
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError(`line ${number}: is not valid JSON`);
  }
}
