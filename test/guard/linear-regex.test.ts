import { describe, expect, it } from 'vitest';
import { linearRegex } from '#src/guard/linear-regex.js';

describe('an expression in linear time', () => {
  it.each([
    ['\\d+', 'a 12, b 345 c', '12', '345'],
    ['(?<=: )[A-D]|x(y)?', 'xy: A', 'xy', 'A'],
    // Spaces, characters and what . leaves out are those of JavaScript.
    ['\\S+', 'a\u00a0b\u2003', 'a', 'b'],
    ['[^\\S\\n]+', 'a\u00a0\n', '\u00a0', '\u00a0'],
    ['.+', 'a\rb\u2028', 'a', 'b'],
    ['[^]', '😀', '😀', '😀'],
    ['\\ud83d\\ude00|\\u{1F601}', '😁😀', '😁', '😀'],
    ['[\\b]', 'a\b', '\b', '\b'],
    // What was found before is nothing to the last match.
    ['(a)|b', 'ab', 'a', 'b'],
    // An overlapping match, or one of nothing, is none.
    ['aa', 'aaa', 'aa', 'aa'],
    ['\\d*', '12 ', '12', '12'],
    ['x', 'abc', null, null],
  ])('%s finds in %j what JavaScript does', (source, text, first, last) => {
    const regex = linearRegex(source);
    expect([regex.first(text), regex.last(text)]).toEqual([first, last]);
  });

  it.each([
    ['(', 'Unterminated group'],
    ['[A-D](?=\\.)', 'a lookahead, (?='],
    ['a(?!b)', 'a lookahead, (?!'],
    ['(a)\\1', 'a back-reference, \\1'],
    ['(?<n>a)\\k<n>', 'a back-reference, \\k'],
    ['(?<=(a))b', 'lookbehind'],
    ['\\p{Script=Greek}', '\\p{Script=Greek}'],
    ['a{1001}', 'repeat count'],
    ['(?:[ab]{600}|c{600})d', 'instructions'],
    ['(?:[ab]{900}){2}', 'repeat count'],
  ])('%s is refused by name', (source, problem) => {
    expect(() => linearRegex(source)).toThrow(problem);
  });
});
