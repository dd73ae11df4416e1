import { describe, expect, it } from 'vitest';
import { linearRegex } from '#src/guard/linear-regex.js';

describe('an expression in linear time', () => {
  it.each([
    ['\\d+', 'a 12, b 345 c', '12', '345'],
    ['(?<=: )[A-D]|x(y)?', 'xy: A', 'xy', 'A'],
    ['(?<letter>[A-D])|\\x{1F601}', '😁 C', '😁', 'C'],
    // What was found before is nothing to the last match.
    ['(a)|b', 'ab', 'a', 'b'],
    // An overlapping match, or one of nothing, is none.
    ['aa', 'aaa', 'aa', 'aa'],
    ['\\d*', '12 ', '12', '12'],
    ['x', 'abc', null, null],
  ])('%s finds in %j', (source, text, first, last) => {
    const regex = linearRegex(source);
    expect([regex.first(text), regex.last(text)]).toEqual([first, last]);
  });

  it.each([
    ['(', 'missing closing )'],
    ['[A-D](?=\\.)', '(?='],
    ['a(?!b)', '(?!'],
    ['(a)\\1', '\\1'],
    ['(?<n>a)\\k<n>', '\\k'],
    ['(?<=(a))b', 'lookbehind'],
    ['\\p{Script=Greek}', '\\p{Script=Greek}'],
    ['a{1001}', 'repeat count'],
    ['(?:[ab]{600}|c{600})d', 'instructions'],
    ['(?:[ab]{900}){2}', 'repeat count'],
  ])('%s is refused by name', (source, problem) => {
    expect(() => linearRegex(source)).toThrow(problem);
  });
});
