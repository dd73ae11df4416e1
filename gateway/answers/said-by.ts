import { finalAnswer } from '../../src/answers/final-answer.js';
import { linearRegex } from '../../src/guard/linear-regex.js';
import type { Said } from '../../src/guard/vote.js';
import type { VoteConfig } from '../policy/vote-schema.js';

/** Characters of an answer's end that are searched. */
const MOST_CHARACTERS = 2 ** 15;

/**
 * What an answer says, for comparing answers: what the operator's expression finds in it, or else {@link finalAnswer}. An
 * answer in which it finds nothing says nothing.
 */
export function saidBy({ regex }: VoteConfig): (text: string) => Said {
  if (regex === undefined) return finalAnswer;
  const { last } = linearRegex(regex);
  return (text) => last(text.slice(-MOST_CHARACTERS))?.trim() || null;
}
