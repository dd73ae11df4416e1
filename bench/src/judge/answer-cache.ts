import { z } from 'zod';

export const answerSchema = z.object({
  content: z.string(),
  promptTokens: z.int(),
  completionTokens: z.int(),
});
export type JudgeAnswer = z.output<typeof answerSchema>;

/** Answers by what they answer: a question that was paid for is not asked again. */
export interface AnswerCache {
  get(key: string): JudgeAnswer | undefined;
  add(key: string, answer: JudgeAnswer): void;
}
