import { stepContent } from '../steps/step-content.js';
import type { Said } from './vote.js';

const BOXED = '\\boxed{';
const NUMBER = /(?<![\p{L}\d])-?\d+(?:[.,]\d+)*(?:\/\d+)?/gu;
const THOUSANDS = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/**
 * The result that a text comes to: the content of its last `\boxed{}`, or else its last number, or else the words of its last
 * line. This is a coarse heuristic; if you know the form of the answers, you can do better.
 */
export function finalAnswer(text: string): Said {
  const boxed = lastBoxed(text);
  if (boxed !== null) return numberOf(boxed) ?? (boxed.replace(/\s+/g, '') || null);
  const last = text.match(NUMBER)?.at(-1);
  if (last !== undefined) return numberOf(last) ?? last;
  const line = text.trim().split('\n').at(-1) ?? '';
  return stepContent(line) || null;
}

/** The content of the last `\boxed{}` that is closed; braces in it may nest. */
function lastBoxed(text: string): string | null {
  const start = text.lastIndexOf(BOXED);
  if (start === -1) return null;
  const from = start + BOXED.length;
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return text.slice(from, at);
  }
  return null;
}

/** `1,000.0` is 1000; a number with more digits than fit stays as it is. */
function numberOf(text: string): string | null {
  const plain = text.trim();
  const digits = THOUSANDS.test(plain) ? plain.replaceAll(',', '') : plain;
  const number = Number(digits);
  return digits !== '' && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? String(number) : null;
}
