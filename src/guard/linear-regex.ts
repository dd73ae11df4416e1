import { RE2JS } from 're2js';

/** A regular expression that takes time in proportion to the text, whatever the text is. */
export interface LinearRegex {
  /** The first match; `null` if there is none. */
  readonly first: (text: string) => string | null;
  /** The first group of the last match, or all of that match if the group took no part; `null` without a match. */
  readonly last: (text: string) => string | null;
}

/** JavaScript's `\s` in a class; RE2's is ASCII. */
const SPACE = String.raw`\t-\r\p{Z}\x{feff}`;
/** All other characters. A class of RE2 cannot hold the complement of another. */
const NO_SPACE = String.raw`\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
/** What means something else in RE2, or nothing, and where classes begin and end. */
const TOKEN = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\[\s\S]|\[\^?|\]|\(\?<?[=!]|\./gu;
/** Instructions of a compiled expression: the time for a character grows with them. */
const MOST_INSTRUCTIONS = 1000;

/**
 * An expression in the syntax of JavaScript with the flag `u`, run by RE2, which does not backtrack: one that
 * backtracks can take hours on a text that somebody else has written, and nothing else runs meanwhile.
 *
 * @throws SyntaxError for what is no expression, for lookaheads and back-references, which RE2 cannot have, and for
 * repetitions of more than 1000
 */
export function linearRegex(source: string): LinearRegex {
  new RegExp(source, 'u'); // names what is wrong in the words of JavaScript
  const pattern = inRe2(source);
  const first = compiled(pattern);
  // The last of all matches, in one pass: at each place a match, or else one character that belongs to none. To look for
  // one match after the other takes quadratic time where each search goes on to the end.
  const last = compiled(`^(?:(${pattern})|[\\x00-\\x{10ffff}])*\\z`);
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

function inRe2(source: string): string {
  let inClass = false;
  const pattern = source.replace(TOKEN, (token) => {
    if (token === ']') inClass = false;
    if (inClass) return CLASS_TOKENS[token] ?? inEither(token);
    if (token.startsWith('[')) inClass = true;
    if (/^\(\?[=!]/.test(token)) throw unsupported(source, `a lookahead, ${token}`);
    if (/^\\[1-9k]/.test(token)) throw unsupported(source, `a back-reference, ${token}`);
    return TOKENS[token] ?? inEither(token);
  });
  return RE2JS.translateRegExp(pattern);
}

const TOKENS: Readonly<Record<string, string>> = {
  '.': String.raw`[^\n\r\x{2028}\x{2029}]`,
  '\\s': `[${SPACE}]`,
  '\\S': `[^${SPACE}]`,
};
const CLASS_TOKENS: Readonly<Record<string, string>> = {
  '\\b': '\\x08',
  '\\s': SPACE,
  '\\S': NO_SPACE,
};

/** A character beyond 16 bits may be written as two. */
const inEither = (token: string): string =>
  /^\\ud/i.test(token)
    ? String.fromCharCode(
        ...token
          .split('\\u')
          .slice(1)
          .map((unit) => Number.parseInt(unit, 16)),
      )
    : token;

function compiled(pattern: string): RE2JS {
  let regex: RE2JS;
  try {
    regex = RE2JS.compile(pattern, RE2JS.LOOKBEHINDS);
  } catch (cause) {
    throw cause instanceof Error ? unsupported(pattern, cause.message, cause) : cause;
  }
  if (regex.programSize() <= MOST_INSTRUCTIONS) return regex;
  throw unsupported(pattern, `${regex.programSize()} instructions (at most ${MOST_INSTRUCTIONS})`);
}

const unsupported = (source: string, what: string, cause?: Error): SyntaxError =>
  new SyntaxError(`Invalid regular expression: /${source}/u: not supported by RE2: ${what}`, { cause });
