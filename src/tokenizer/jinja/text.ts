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
  if (separator === null) return splitAtSpaces(text, limit, fromRight);
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  if (fromRight) {
    return [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)];
  }
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

function splitAtSpaces(text: string, limit: number, fromRight: boolean): string[] {
  const words = [...text.matchAll(new RegExp(`[^${SPACE}]+`, 'g'))];
  if (limit < 0 || words.length <= limit) return words.map(([word]) => word);
  const cut = fromRight ? words.slice(words.length - limit) : words.slice(0, limit);
  const texts = cut.map(([word]) => word);
  const [from, until] = fromRight
    ? [0, words.at(words.length - limit)?.index ?? text.length]
    : [words[limit]?.index ?? text.length, text.length];
  const rest = stripped(text.slice(from, until), null, !fromRight, fromRight);
  if (fromRight) return rest === '' ? texts : [rest, ...texts];
  return rest === '' ? texts : [...texts, rest];
}

/** The parts of a text between what `replace` replaces. */
export function replaced(text: string, old: string, count: number): string[] {
  if (old !== '') return split(text, old, count);
  const all = characters(text);
  const cuts = count < 0 ? all.length + 1 : Math.min(count, all.length + 1);
  const parts = ['', ...all.slice(0, cuts - 1), all.slice(Math.max(0, cuts - 1)).join('')];
  return cuts === 0 ? [text] : parts;
}

/** The case that a letter has at the beginning of a title, where it is not its upper case. */
function titleOf(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  if (code >= 0x10d0 && code <= 0x10ff) return letter; // Georgian has no titles
  if (code >= 0x1c4 && code <= 0x1cc) return String.fromCharCode(0x1c5 + 3 * Math.floor((code - 0x1c4) / 3));
  if (code >= 0x1f1 && code <= 0x1f3) return '\u01f2';
  if (code >= 0x1f80 && code <= 0x1fff && letter.toUpperCase().endsWith('Ι')) {
    throw new Refused(`the title case of "${letter}"`);
  }
  const [first = '', ...rest] = letter.toUpperCase();
  return first + rest.join('').toLowerCase(); // ligatures, as ﬁ and ß
}

export function capitalized(text: string): string {
  const [first = ''] = text;
  return titleOf(first) + text.toLowerCase().slice(first.toLowerCase().length);
}

/** Each run of letters begins with a title's letter. */
export const titled = (text: string): string => text.replace(/\p{Cased}+/gu, capitalized);

export const swapped = (text: string): string =>
  text.replace(/\p{Cased}/gu, (letter) =>
    isCase(letter, /\p{Uppercase}/u) ? letter.toLowerCase() : letter.toUpperCase(),
  );

const isCase = (letter: string, pattern: RegExp): boolean => pattern.test(letter);

const DIGITS =
  '\\p{Nd}²³¹\u1369-\u1371\u19da⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}';

/** The questions that a text answers: each of its characters is of a kind, and it has at least one. */
const KINDS: Readonly<Record<string, RegExp>> = {
  isalpha: /^\p{L}+$/u,
  isdecimal: /^\p{Nd}+$/u,
  isdigit: new RegExp(`^[${DIGITS}]+$`, 'u'),
  isnumeric: /^\p{N}+$/u,
  isalnum: /^[\p{L}\p{N}]+$/u,
  isspace: new RegExp(`^[${SPACE}]+$`),
};

export function isOfKind(question: string, text: string): boolean {
  if (question === 'isnumeric' && /\p{Script=Han}/u.test(text))
    throw new Refused('"isnumeric" of Chinese numbers');
  return KINDS[question]?.test(text) ?? false;
}

export const isLower = (text: string): boolean =>
  /\p{Lowercase}/u.test(text) && !/\p{Uppercase}|\p{Lt}/u.test(text);
export const isUpper = (text: string): boolean =>
  /\p{Uppercase}/u.test(text) && !/\p{Lowercase}|\p{Lt}/u.test(text);
/** Upper case only where a word begins, lower case only where it goes on. */
export const isTitle = (text: string): boolean =>
  /\p{Cased}/u.test(text) && !/\p{Cased}(?=\p{Uppercase}|\p{Lt})|(?<!\p{Cased})\p{Lowercase}/u.test(text);

export function escapeHtml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    "'": '#39',
    '"': '#34',
  };
  return text.replace(/[&<>'"]/g, (character) => `&${names[character]};`);
}
