import { UsageError, visibleLine } from 'flinch/internals';
import { z } from 'zod';
import type { Row } from './question-rows.js';
import type { Example } from './task.js';

const text = z.union([z.string().trim().min(1, 'is empty'), z.number().transform(String)]);
const exampleSchema = z.object({ question: text, answer: text });

/**
 * Worked examples (few-shot) of a file with the columns `question` and `answer`: what the model is shown as answered before.
 * @param asked questions of the run, of which none may be an example
 * @throws UsageError that names the line
 */
export function examplesOf(rows: readonly Row[], asked: readonly { readonly question: string }[]): Example[] {
  const questions = new Set(asked.map(({ question }) => question));
  if (rows.length === 0) throw new UsageError('--examples: has no rows');
  return rows.map(({ values, place }) => {
    const { success, data, error } = exampleSchema.safeParse(values);
    const [issue] = error?.issues ?? [];
    if (!success)
      throw new UsageError(visibleLine(`--examples: ${place}: ${issue?.path.join('.')}: ${issue?.message}`));
    if (questions.has(data.question))
      throw new UsageError(`--examples: ${place}: question: is one of --questions, too`);
    return data;
  });
}
