import { z } from 'zod';

const RIGHT = [true, 1, '1', '1.0', 'true', 'yes', 'right', 'correct'] as const;
const WRONG = [false, 0, '0', '0.0', 'false', 'no', 'wrong', 'incorrect'] as const;
const UNSURE = 'unsure';

/** Whether an answer is right, as files say it, in any case; `null` if they say that nobody knows: `unsure`. */
export const labelSchema = z.preprocess(
  (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
  z
    .literal([...RIGHT, ...WRONG, UNSURE], { error: 'must be right, wrong or unsure, or true or false' })
    .transform((word) => (word === UNSURE ? null : RIGHT.some((each) => each === word))),
);
