import { z } from 'zod';
import { reasonOf } from '../../src/files/file-errors.js';
import { linearRegex } from '../../src/guard/linear-regex.js';

export const voteSchema = z
  .strictObject({
    regex: z
      .string()
      .min(1)
      .superRefine((text, context) => {
        try {
          linearRegex(text);
        } catch (error) {
          context.addIssue({ code: 'custom', message: reasonOf(error) });
        }
      })
      .optional()
      .describe(
        'Regular expression of [RE2](https://github.com/google/re2/wiki/Syntax): the first group of its last match, or else all of that match. The last 32,768 characters of an answer are searched.',
      ),
  })
  .describe(
    'What an answer says, where the guard has `action: vote`; by default yes or no, a date, a number, a letter, or a few words, as [a vote](../guard.md#vote) reads them.',
  );

/** How it is found what an answer says. */
export type VoteConfig = z.output<typeof voteSchema>;
