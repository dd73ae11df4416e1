import { z } from 'zod';
import { parseJsonLines } from '#src/files/json-lines.js';

/** A line of `lab/scripts/answers.jsonl`, as `lab/scripts/answers.py` writes it. */
const answerSchema = z.object({
  /** Counts the questions from 0. */
  question: z.int(),
  /** 0 for the answer at temperature 0. */
  sample: z.int(),
  asked: z.string(),
  prompt: z.array(z.int()),
  tokens: z.array(z.int()),
  /** The end token, if the answer came to its end. */
  end: z.int().nullable(),
  text: z.string(),
});

export type Answer = z.output<typeof answerSchema>;

export const parseAnswers = (text: string): Answer[] => parseJsonLines(text, answerSchema);

/**
 * Answers of each question with at least two samples, which can be compared, the one at temperature 0 first.
 */
export function byQuestion<T extends Pick<Answer, 'question'>>(answers: readonly T[]): Map<number, T[]> {
  const questions = new Map<number, T[]>();
  for (const answer of answers) {
    questions.set(answer.question, [...(questions.get(answer.question) ?? []), answer]);
  }
  return new Map([...questions].filter(([, own]) => own.length > 2));
}
