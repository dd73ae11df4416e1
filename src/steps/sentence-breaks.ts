/** Ends of sentences. Every rule looks only at the text before a gap and at the first character after it. */

/** Characters after which a sentence may end if white space and the beginning of another follow. */
const TERMINATOR = /[.?!…؟।॥]/;
/** Characters that end a sentence by themselves: their scripts write no space between sentences. */
const FULL_STOP = /[。！？｡]/;
const CLOSER = /["'”’»)\]}*_`」』）】》〉]/;
/** Letters without case begin sentences too. */
const STARTER = /[\p{Lu}\p{Lt}\p{Lo}\p{Nd}$\\(*]/u;

const NUMBER = '(?:\\d{1,3}(?:\\.\\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,5})';
/** A list number at the start of a line, without its dot: "1", "**2", "(b", "iv". */
const LIST_NUMBER = new RegExp(`^[\\s>#*_(-]*${NUMBER}$`);
/** A line that only announces the next: "1.", "(a)", "-", "###", "**2.**", "---". */
const MARKER_LINE = new RegExp(`^\\s*(?:[-*+•‣◦–—#>=_~|]+|[>#*_-]*\\s*\\(?${NUMBER}[.)]+[*_]*)\\s*$`);
/** The longest marker that is taken for one, with its white space. */
const MAX_MARKER = 24;

const ABBREVIATION = /(?:^|[^\p{L}\p{N}])(?:[eE]\.g|[iI]\.e|vs|cf|Eqs?|Figs?|Dr|Mrs?|Ms|Prof|St)$/u;
/** "No. 5", but "No. Then …" begins a sentence. */
const NUMERO = /(?:^|[^\p{L}\p{N}])No$/u;
const INITIAL = /(?:^|[^\p{L}\p{N}])\p{Lu}$/u;
/** More than the longest abbreviation. */
const LOOK_BACK = 8;

/** Tests one UTF-16 unit. Most text is ASCII, which needs no regular expression. */
export const isSpace = (char: string): boolean =>
  char > '\x7f' ? /\s/.test(char) : char === ' ' || (char >= '\t' && char <= '\r');
export const isTerminator = (char: string): boolean => TERMINATOR.test(char);
export const isFullStop = (char: string): boolean => char > '\x7f' && FULL_STOP.test(char);
export const isCloser = (char: string): boolean => CLOSER.test(char);
export const isStarter = (char: string): boolean => STARTER.test(char);

/** The first position from `at` on, that holds neither the end of a sentence nor what closes with it. */
export function skipEnding(text: string, at: number): number {
  let i = at;
  while (i < text.length && (isFullStop(text[i]!) || isTerminator(text[i]!) || isCloser(text[i]!))) i += 1;
  return i;
}

/**
 * Whether a sentence ends before the white space at `gap`.
 * @param line where the line begins, or the piece that is looked at
 * @param next the first character after the white space
 */
export function endsSentence(text: string, line: number, gap: number, next: string): boolean {
  let last = gap - 1;
  while (last > line && isCloser(text[last]!)) last -= 1;
  const end = text[last] ?? '';
  if (isFullStop(end)) return true;
  if (!isTerminator(end) || !isStarter(next)) return false;
  if (end !== '.') return true;
  const before = text.slice(Math.max(line, last - LOOK_BACK), last);
  if (last - line <= MAX_MARKER && LIST_NUMBER.test(text.slice(line, last))) return false;
  if (ABBREVIATION.test(before)) return false;
  if (NUMERO.test(before)) return !/\p{Nd}/u.test(next);
  return !(INITIAL.test(before) && /\p{L}/u.test(next));
}

/** Whether the line is only the marker or the decoration of what follows. */
export function isMarkerLine(line: string): boolean {
  return line.length <= MAX_MARKER && MARKER_LINE.test(line);
}
