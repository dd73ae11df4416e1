import { type AnswerKey, type Reading, readAnswer } from 'flinch/internals';

/** Form of an answer to a task of BBH. */
export type BbhKind = 'option' | 'yes_no' | 'valid_invalid';

/** Kind of an answer by its reference; `null` if it is none of the three. */
export function bbhKind(target: string): BbhKind | null {
  if (/^\([A-R]\)$/.test(target)) return 'option';
  if (/^(yes|no)$/i.test(target)) return 'yes_no';
  return /^(valid|invalid)$/i.test(target) ? 'valid_invalid' : null;
}

/** The options of a question, from (A). */
export const bbhOptions = (input: string): string[] =>
  [...input.matchAll(/^\([A-R]\) (.+)$/gm)].map(([, text = '']) => text);

/** Reads a response as the reference is written: `(B)`, `Yes`, `invalid`. */
export function readBbhAnswer(response: string, question: string, reference: string): Reading {
  const key = (answer: string, choices: AnswerKey['choices'] = null): AnswerKey => ({
    question,
    answers: [answer],
    choices,
  });
  const kind = bbhKind(reference);
  if (kind === 'yes_no' || kind === 'valid_invalid') {
    const [yes, no] = kind === 'yes_no' ? ['Yes', 'No'] : ['valid', 'invalid'];
    const { extracted, correct } = readAnswer(asYesNo(response), key(asYesNo(reference)), 'yes-no');
    return { extracted: extracted && (extracted === 'yes' ? yes : no), correct };
  }
  const { extracted, correct } = readAnswer(
    response,
    key(reference.slice(1, -1), bbhOptions(question)),
    'choice',
  );
  return { extracted: extracted && `(${extracted})`, correct };
}

/** "Not valid", "not deductively valid": no. */
const asYesNo = (text: string): string =>
  text.replace(/\bnot\s+(?:\w+ly\s+)?valid\b|\binvalid\b/gi, 'no').replace(/\bvalid\b/gi, 'yes');
