import { datesIn } from './dates.js';
import { plainText, words } from './plain-text.js';
import { polarityOf } from './polarity.js';
import { quantitiesIn } from './quantities.js';

/** What a key is, by which answers are compared with it. */
export const ANSWER_KINDS = ['number', 'yes-no', 'choice', 'date', 'list', 'name', 'text'] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];

/** A question's right answers, any of which will do. */
export interface AnswerKey {
  readonly question: string;
  readonly answers: readonly string[];
  /** The letters of right answers are in `answers` then, from A. */
  readonly choices: readonly string[] | null;
}

/** What a response says, and whether that is right; `null`: unsure. */
export interface Reading {
  readonly extracted: string | null;
  readonly correct: boolean | null;
}

/** Words of the longest name. */
const LONGEST_NAME = 4;

export function kindOf({ answers, choices }: Pick<AnswerKey, 'answers' | 'choices'>): AnswerKind {
  if (choices) return 'choice';
  const plain = answers.map((answer) => plainText(answer).trim());
  if (plain.every((answer) => polarityOf(answer) !== null)) return 'yes-no';
  if (plain.every((answer) => isNumber(answer))) return 'number';
  if (plain.every((answer) => isDate(answer))) return 'date';
  if (plain.every((answer) => listItems(answer) !== null)) return 'list';
  return plain.every((answer) => words(answer).split(' ').length <= LONGEST_NAME) ? 'name' : 'text';
}

/** A key that is one number, with a unit or another word in lower case: `3.5 kg`, `7 apples`. */
function isNumber(plain: string): boolean {
  const [only, ...more] = quantitiesIn(plain);
  if (!only || more.length > 0) return false;
  return (
    /^[-+$€£¥A-Z\s]{0,5}$/.test(plain.slice(0, only.start)) && /^[a-z]*$/.test(plain.slice(only.end).trim())
  );
}

function isDate(plain: string): boolean {
  const [date] = datesIn(plain);
  return date !== undefined && date.end - date.start === plain.replace(/^\p{L}+day,?\s+/u, '').length;
}

/** The items of a key that is a list: `a, b and c`, `a; b`, JSON; `null` for what is none. */
export function listItems(plain: string): string[] | null {
  const bare = plain
    .replace(/^[[{(]\s*([\s\S]*?)\s*[\]})]$/, '$1')
    .replace(/,?\s+(?:and|und|et|y|&)\s+/g, plain.includes(';') ? '; ' : ', ');
  const items = bare
    .split(bare.includes(';') ? ';' : /,\s+|,(?!\d{3}(?!\d))/)
    .map((item) => item.trim().replace(/^"|"$/g, ''));
  if (items.length < 2 || items.some((item) => item === '' || words(item).split(' ').length > LONGEST_NAME))
    return null;
  return items;
}
