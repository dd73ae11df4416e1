import { Refused } from './faults.js';
import { characters } from './values.js';

/** What Python takes for white space: more control characters than JavaScript, and not U+FEFF. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACES = new Set(characters('\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000'));
for (let code = 0x2000; code <= 0x200a; code++) SPACES.add(String.fromCharCode(code));

export const isSpace = (character: string): boolean => SPACES.has(character);

const ENDS = '\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029';
const LINE_END = new RegExp(`\\r\\n|[${ENDS}]`, 'g');

export function stripped(text: string, chars: string | null, left: boolean, right: boolean): string {
  const set = chars === null ? SPACES : new Set(characters(chars));
  const all = characters(text);
  let [start, end] = [0, all.length];
  while (left && start < end && set.has(all[start] ?? '')) start++;
  while (right && end > start && set.has(all[end - 1] ?? '')) end--;
  return all.slice(start, end).join('');
}

export function splitLines(text: string, keepsEnds = false): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const { index, 0: end } of text.matchAll(LINE_END)) {
    lines.push(text.slice(start, keepsEnds ? index + end.length : index));
    start = index + end.length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

/** `split` and `rsplit`; `limit` is the number of cuts, none if it is negative. */
export function split(text: string, separator: string | null, limit: number, fromRight = false): string[] {
  if (separator === null) {
    if (limit >= 0) throw new Refused('a limited split at white space');
    return text.match(new RegExp(`[^${SPACE}]+`, 'g')) ?? [];
  }
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  if (fromRight) {
    return [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)];
  }
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

/** The parts of a text between what `replace` replaces. */
export function replaced(text: string, old: string, count: number): string[] {
  if (old !== '') return split(text, old, count);
  throw new Refused('replacing an empty text');
}

/** Letters whose case at the beginning of a title is not their upper case. */
const TITLES = /[ßŉǄ-ǌǰ-ǳΐΰև\u10d0-\u10ff\u1e96-\u1e9a\u1f50-\u1fff\ufb00-\ufb17]/;

/** @throws Refused for a letter with a case of its own for titles */
export function capitalized(text: string): string {
  const [first = ''] = text;
  if (TITLES.test(first)) throw new Refused(`the title case of "${first}"`);
  return first.toUpperCase() + text.toLowerCase().slice(first.toLowerCase().length);
}

/** The method `title`: each run of letters begins with a title's letter. */
export const titled = (text: string): string => text.replace(/\p{Cased}+/gu, capitalized);

/** Jinja's filter `title`, whose words begin behind spaces, brackets and hyphens. */
export const titleOf = (text: string): string =>
  text
    .split(new RegExp(`([-${SPACE}({\\[<]+)`))
    .map((part) => {
      const [letter = ''] = part;
      return letter.toUpperCase() + part.slice(letter.length).toLowerCase();
    })
    .join('');
