import { lastBoxed } from './boxed.js';
import { afterAnswerIs, numberIn } from './math-answer.js';
import { parseNumber, sameNumber } from './number.js';

/** Text after the last "####", which ends the solutions of GSM8K. */
const afterMark = (text: string): string | null => {
  const at = text.lastIndexOf('####');
  return at < 0 ? null : text.slice(at + 4);
};

/** The reference of a solution; `null` for one that has none. */
export const gsm8kReference = (solution: string): string | null => {
  const marked = afterMark(solution);
  return marked === null ? null : numberIn(marked, 'first');
};

/**
 * The number that a response ends with: the first one of its box, past its last sign of equality, or else after "####", or else after its last "answer
 * is"; or else the last number. Without dollar signs and thousands separators.
 */
export function extractGsm8kAnswer(response: string): string | null {
  const plain = response.replace(/\\?\$|\\!|\{,\}(?=\d{3})/g, (found) => (found === '{,}' ? ',' : ''));
  for (const text of [lastBoxed(plain), afterMark(plain), afterAnswerIs(plain)]) {
    const number = text === null ? null : numberIn(text.split('=').at(-1) ?? '', 'first');
    if (number !== null) return number;
  }
  return numberIn(plain, 'last');
}

/** Exact: 18.00 is 18. */
export function sameGsm8kAnswer(answer: string, reference: string): boolean {
  const [a, b] = [parseNumber(answer), parseNumber(reference)];
  return a !== null && b !== null && sameNumber(a, b, 0);
}
