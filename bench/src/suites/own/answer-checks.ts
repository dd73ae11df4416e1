import { linearRegex } from 'flinch/internals';
import { type BbhOption, extractBbhAnswer, statedAnswer } from '../../answers/bbh-answer.js';
import { lastBoxed } from '../../answers/boxed.js';
import { extractGsm8kAnswer, sameGsm8kAnswer } from '../../answers/gsm8k-answer.js';
import { containsAnswer } from '../questions.js';
import type { Checked } from '../suite.js';
import type { CHECKS } from './task.js';

type Rule = (typeof CHECKS)[number];
type Read = (response: string, answers: readonly string[], choices: readonly string[] | null) => Checked;

/** Lettered from A. */
export const optionsOf = (choices: readonly string[]): BbhOption[] =>
  choices.map((text, i) => ({ letter: String.fromCharCode(65 + i), text }));

/** Case, spaces and what surrounds an answer do not count. */
export const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/^[\s"'“”‘’*_`]+|[\s"'“”‘’*_`.]+$/g, '');

/** What a response says in the end: its box, or what follows its last "answer is" or "Answer:", or its last line. */
function saidLast(response: string): string {
  const stated = statedAnswer(response)?.trimStart().split('\n')[0];
  return lastBoxed(response) ?? stated ?? response.trim().split('\n').at(-1) ?? '';
}

/** Whether a response is right, by each of the rules. */
export const RULES: Readonly<Record<Rule, Read>> = {
  /** The response, or what it says in the end, is an answer. */
  exact(response, answers) {
    const said = [response, saidLast(response)].map(plain);
    return { extracted: said[1] || null, correct: answers.some((answer) => said.includes(plain(answer))) };
  },
  number(response, answers) {
    const extracted = extractGsm8kAnswer(response);
    const correct = extracted !== null && answers.some((answer) => sameGsm8kAnswer(extracted, answer));
    return { extracted, correct };
  },
  choice(response, answers, choices) {
    const found = extractBbhAnswer(response, 'option', optionsOf(choices ?? []));
    const extracted = found === null ? null : found.slice(1, -1);
    return { extracted, correct: extracted !== null && answers.includes(extracted) };
  },
  /** As whole words or numbers, in whatever case. */
  contains: (response, answers) => ({
    extracted: response.trim() || null,
    correct: containsAnswer(response, answers),
  }),
  /** An answer is a regular expression, which matches somewhere. */
  regex(response, answers) {
    const found = answers.map((answer) => linearRegex(answer).first(response));
    const extracted = found.find((match) => match !== null) ?? null;
    return { extracted, correct: extracted !== null };
  },
};
