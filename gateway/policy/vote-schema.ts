import { query } from 'jsonpath-rfc9535';
import { z } from 'zod';
import { reasonOf } from '../../src/files/errors.js';

/** A text that a parser accepts, which throws an error otherwise. */
const parsed = (parse: (text: string) => unknown) =>
  z
    .string()
    .min(1)
    .superRefine((text, context) => {
      try {
        parse(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: reasonOf(error) });
      }
    });

export const voteSchema = z
  .strictObject({
    regex: parsed((text) => new RegExp(text, 'u'))
      .optional()
      .describe(
        'Regular expression of JavaScript, with the flag `u`: the first group of its last match, or else all of that match.',
      ),
    json_path: parsed((text) => query(null, text))
      .optional()
      .describe('Path (RFC 9535) in answers that are JSON, also in a fenced block.'),
    agreement: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe(
        'Share of the answers, of at least three, that ends a vote when they agree; without it, a vote ends once no further answer can change the winner.',
      ),
  })
  .refine(({ regex, json_path: path }) => regex === undefined || path === undefined, {
    error: 'regex is not possible with json_path',
  })
  .describe(
    'What an answer says, and when a vote ends, where the guard has `action: vote`; by default an answer says its last `\\boxed{}`, or else its last number, or else the words of its last line.',
  );

/** How it is found what an answer says, and when a vote ends. */
export type VoteConfig = z.output<typeof voteSchema>;
