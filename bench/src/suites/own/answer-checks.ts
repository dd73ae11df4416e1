import {
  ANSWER_KINDS,
  type AnswerKey,
  type AnswerKind,
  finalText,
  kindOf,
  linearRegex,
  readAnswer,
  withoutThoughts,
} from 'flinch/internals';
import type { Checked } from '../suite.js';
import { CHECKS, type Check } from './checks.js';

export const isCheck = (check: string): check is Check => CHECKS.some((one) => one === check);

/** As what a check reads the answers to a key; `null` for one that compares texts. */
export function kindRead(check: Check, key: Pick<AnswerKey, 'answers' | 'choices'>): AnswerKind | null {
  if (check === 'exact' || check === 'regex') return null;
  return ANSWER_KINDS.find((kind) => kind === check) ?? kindOf(key);
}

/** Whether a response is right, by a check. */
export function checkAnswer(response: string, key: AnswerKey, check: Check): Checked {
  const kind = kindRead(check, key);
  if (kind) return { ...readAnswer(response, key, kind), kind };
  return check === 'exact' ? checkExact(response, key) : checkRegex(response, key);
}

/** Case, spaces and what surrounds an answer do not count. */
export const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/^[\s"'“”‘’*_`]+|[\s"'“”‘’*_`.]+$/g, '');

/** The response, or what it says in the end, is an answer. */
function checkExact(response: string, { answers }: AnswerKey): Checked {
  const spoken = withoutThoughts(response).trim();
  const said = [spoken, finalText(response).marked ?? spoken.split('\n').at(-1) ?? ''].map(plain);
  return { extracted: said[1] || null, correct: answers.some((answer) => said.includes(plain(answer))) };
}

/** An answer is a regular expression, which matches somewhere. */
function checkRegex(response: string, { answers }: AnswerKey): Checked {
  const spoken = withoutThoughts(response);
  const found = answers.map((answer) => linearRegex(answer).first(spoken));
  const extracted = found.find((match) => match !== null) ?? null;
  return { extracted, correct: extracted !== null };
}
