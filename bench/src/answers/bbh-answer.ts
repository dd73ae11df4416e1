import { lastBoxed } from './boxed.js';

/** Form of an answer to a task of BBH. */
export type BbhKind = 'option' | 'yes_no' | 'valid_invalid';

export interface BbhOption {
  readonly letter: string;
  readonly text: string;
}

/** Kind of an answer by its reference; `null` if it is none of the three. */
export function bbhKind(target: string): BbhKind | null {
  if (/^\([A-R]\)$/.test(target)) return 'option';
  if (/^(yes|no)$/i.test(target)) return 'yes_no';
  return /^(valid|invalid)$/i.test(target) ? 'valid_invalid' : null;
}

/** The lettered options of a question. */
export const bbhOptions = (input: string): BbhOption[] =>
  [...input.matchAll(/^\(([A-R])\) (.+)$/gm)].map(([, letter = '', text = '']) => ({ letter, text }));

/** "The answer is", "The final answer:", "Answer: ". */
const MARKER = /\banswer\b(?:\s+is\b\s*:?|\s*:)/gi;

/** What follows the last of these; `undefined` without one. */
export function statedAnswer(response: string): string | undefined {
  const marker = [...response.matchAll(MARKER)].at(-1);
  return marker && response.slice(marker.index + marker[0].length);
}

/**
 * The answer of a response, written as the references are: what it puts in a box, or else says first after its last
 * "the answer is", or else says last.
 *
 * @param options of the question, for a response that names one instead of its letter
 */
export function extractBbhAnswer(
  response: string,
  kind: BbhKind,
  options: readonly BbhOption[],
): string | null {
  const boxed = lastBoxed(response);
  const stated = statedAnswer(response);
  const read = kind === 'option' ? (text: string) => readOption(text, options) : readWord[kind];
  for (const text of [boxed, stated]) {
    const found = text == null ? [] : read(text);
    if (found[0] !== undefined) return found[0];
  }
  return read(response).at(-1) ?? (kind === 'option' ? afterColon(response, options) : null);
}

/** All options that a text names by the first of these ways that it uses. */
function readOption(text: string, options: readonly BbhOption[]): string[] {
  const letters = options.length > 0 ? options.map(({ letter }) => letter).join('') : 'A-R';
  const bracketed = String.raw`\(\s*(?:\\text\{)?([${letters}])\}?\s*\)`;
  // A small letter alone may be the article.
  const ways = [
    new RegExp(bracketed, 'g'),
    new RegExp(String.raw`^[\s*_"'$]*(?:\\text\{\(?)?([${letters}])\b(?![a-z' ]*[a-z])`, 'g'),
    new RegExp(String.raw`\*\*\(?([${letters}])\)?[.:]?\*\*`, 'gi'),
    new RegExp(String.raw`\b[Oo]ption(?:\s+is\b)?\s*:?\s*\**([${letters}])\b`, 'g'),
    new RegExp(bracketed, 'gi'),
  ];
  for (const way of ways) {
    const found = [...text.matchAll(way)].map(([, letter = '']) => `(${letter.toUpperCase()})`);
    if (found.length > 0) return found;
  }
  return namedOptions(text, options);
}

/** Options whose text is in this text, in the order of their positions; of two at one position the longer. */
function namedOptions(text: string, options: readonly BbhOption[]): string[] {
  const words = (given: string): string =>
    ` ${given
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, ' ')
      .trim()} `;
  const within = words(text);
  const places = options.flatMap(({ letter, text: option }) => {
    const at: { letter: string; start: number; end: number }[] = [];
    const wanted = words(option);
    if (wanted.trim() === '') return at;
    for (let start = within.indexOf(wanted); start >= 0; start = within.indexOf(wanted, start + 1)) {
      at.push({ letter, start, end: start + wanted.length });
    }
    return at;
  });
  const longest = places.filter(
    (place) =>
      !places.some(
        (p) =>
          p !== place &&
          p.start <= place.start &&
          p.end >= place.end &&
          p.end - p.start > place.end - place.start,
      ),
  );
  return longest.sort((a, b) => a.start - b.start).map(({ letter }) => `(${letter})`);
}

/** The last letter after a colon. */
function afterColon(text: string, options: readonly BbhOption[]): string | null {
  const letter = [...text.matchAll(/:\s*([A-R])\b(?!')/g)].at(-1)?.[1];
  const known =
    letter !== undefined && (options.length === 0 || options.some((option) => option.letter === letter));
  return known ? `(${letter})` : null;
}

const readWord: Readonly<Record<'yes_no' | 'valid_invalid', (text: string) => string[]>> = {
  yes_no: (text) =>
    [...text.matchAll(/\b(yes|no)\b/gi)].map(([word]) => (word.toLowerCase() === 'yes' ? 'Yes' : 'No')),
  /** "Not valid", "not deductively valid": invalid. */
  valid_invalid: (text) =>
    [...text.matchAll(/\b(not\s+(?:\w+ly\s+)?valid|valid|invalid)\b/gi)].map(([word]) =>
      word.toLowerCase() === 'valid' ? 'valid' : 'invalid',
    ),
};
