import { RE2JS } from 're2js';

/** A regular expression that takes time in proportion to the text, whatever the text is. */
export interface LinearRegex {
  /** The first match; `null` if there is none. */
  readonly first: (text: string) => string | null;
  /** The first group of the last match, or all of that match if the group took no part; `null` without a match. */
  readonly last: (text: string) => string | null;
}

/** Instructions of a compiled expression: the time for a character grows with them. */
const MOST_INSTRUCTIONS = 1000;

/**
 * An expression in the syntax of RE2 (github.com/google/re2/wiki/Syntax), which does not backtrack: one that does can
 * take hours on a text that somebody else has written, and nothing else runs meanwhile.
 *
 * @throws SyntaxError for what is no expression, for lookaheads and back-references, which RE2 cannot have, and for
 * repetitions of more than 1000
 */
export function linearRegex(source: string): LinearRegex {
  const first = compiled(source);
  // The last of all matches, in one pass: at each place a match, or else one character that belongs to none. To look for
  // one match after the other takes quadratic time where each search goes on to the end.
  const last = compiled(`^(?:(${source})|[\\x00-\\x{10ffff}])*\\z`);
  return {
    first(text) {
      const matcher = first.matcher(text);
      return matcher.find() ? matcher.group() : null;
    },
    last(text) {
      const matcher = last.matcher(text);
      if (!matcher.find() || matcher.start(1) < 0) return null;
      // A group keeps what it was in an earlier match.
      const hasGroup = matcher.groupCount() > 1 && matcher.start(2) >= matcher.start(1);
      return matcher.group(hasGroup ? 2 : 1);
    },
  };
}

function compiled(pattern: string): RE2JS {
  const refuse = (problem: string, cause?: Error): SyntaxError =>
    new SyntaxError(`Invalid regular expression for RE2: /${pattern}/: ${problem}`, { cause });
  let regex: RE2JS;
  try {
    regex = RE2JS.compile(pattern, RE2JS.LOOKBEHINDS);
  } catch (cause) {
    throw cause instanceof Error ? refuse(cause.message, cause) : cause;
  }
  const size = regex.programSize();
  if (size <= MOST_INSTRUCTIONS) return regex;
  throw refuse(`${size} instructions (at most ${MOST_INSTRUCTIONS})`);
}
