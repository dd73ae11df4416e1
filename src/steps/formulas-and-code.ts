/** Formulas and code, within which no step ends. */

/** No formula within a line is longer: a lone `$` must not hold up the text behind it for good. */
const MAX_INLINE = 400;

/** First characters of all of them. */
const OPENERS = ['$', '\\', '`'];

export const opensMask = (char: string): boolean => OPENERS.includes(char);

/**
 * End of the formula or code that opens at `at`: `$…$` by pandoc's rule, `\(…\)`, `$$…$$`, `\[…\]`,
 * `\begin{x}…\end{x}`, code fences. The first two stay within a line; the others run to the end of the text
 * if they are not closed.
 *
 * @param lineStart whether only white space stands before `at` in its line
 * @param final whether the text ends here; else more may follow
 * @returns the position after it; `none` if nothing opens there; `unknown` if what follows decides that
 */
export function maskEnd(
  text: string,
  at: number,
  lineStart: boolean,
  final: boolean,
): number | 'none' | 'unknown' {
  if (!opensMask(text[at] ?? '')) return 'none';
  const opener = text.slice(at, at + 2);
  if (opener === '$$') return blockEnd(text, at + 2, '$$');
  if (opener === '\\[') return blockEnd(text, at + 2, '\\]');
  if (opener === '\\(') return inlineEnd(text, at + 2, '\\)', final);
  if (opener === '\\b') {
    const environment = matchAt(/\\begin\{([a-zA-Z]+\*?)\}/y, text, at);
    return environment ? blockEnd(text, at + environment[0].length, `\\end{${environment[1]}}`) : 'none';
  }
  if (opener[0] === '$') return dollarEnd(text, at, final);
  return opener[0] === '`' && lineStart ? fenceEnd(text, at, final) : 'none';
}

/**
 * A `$` opens a formula if no white space follows it, and the next `$` of its line closes it: if that has white space
 * before it or a digit after it ("$5 or $6", "A$5 B$6"), both are money.
 */
function dollarEnd(text: string, at: number, final: boolean): number | 'none' | 'unknown' {
  const first = text[at + 1];
  if (first === undefined) return final ? 'none' : 'unknown';
  if (/\s/.test(first)) return 'none';
  const end = inlineEnd(text, at + 1, '$', final);
  if (typeof end === 'string') return end;
  if (/\s/.test(text[end - 2]!)) return 'none';
  const next = text[end];
  if (next === undefined) return final ? end : 'unknown';
  return /\d/.test(next) ? 'none' : end;
}

function inlineEnd(text: string, from: number, close: string, final: boolean): number | 'none' | 'unknown' {
  const newline = text.indexOf('\n', from);
  const limit = Math.min(newline < 0 ? Number.POSITIVE_INFINITY : newline, from + MAX_INLINE);
  const found = find(text, from, close, limit);
  if (found >= 0) return found + close.length;
  return final || text.length >= limit + close.length ? 'none' : 'unknown';
}

function blockEnd(text: string, from: number, close: string): number {
  const found = find(text, from, close, text.length);
  return found < 0 ? text.length : found + close.length;
}

/** @returns where `close` begins, unescaped and before `limit`; −1 if it does not */
function find(text: string, from: number, close: string, limit: number): number {
  const to = Math.min(limit, text.length);
  for (let i = from; i < to; i += text[i] === '\\' ? 2 : 1) if (text.startsWith(close, i)) return i;
  return -1;
}

/** A line with more backticks further on is code within a line (CommonMark 4.5), not a fence. */
function fenceEnd(text: string, at: number, final: boolean): number | 'none' | 'unknown' {
  const opener = matchAt(/`{3,}[^`\n]*/y, text, at);
  if (!opener) return 'none';
  const end = at + opener[0].length;
  if (end === text.length) return final ? end : 'unknown';
  if (text[end] === '`') return 'none';
  const close = matchAt(/\n[ \t]*`{3,}/g, text, end);
  return close ? close.index + close[0].length : text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
