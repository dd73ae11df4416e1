import { expect, it } from 'vitest';
import { linearRegex } from '#src/guard/linear-regex.js';
import { growthOf, MOST_GROWTH } from '../support/growth.js';

// RE2 has a faster way for short texts: the smaller one is none.
it.each([
  ['(?:the )?answer(?: is)?[: ]*(.+?)\\s*\\.?\\s*$', 'answer is '],
  ['(\\w+\\s?)*$x', 'a'],
  ['a(?:.*b)?', 'a'],
  ['(?<=a.*)b', 'b'],
  ['.*.*.*=', ' '],
])('%s takes time in proportion on %j', async (source, run) => {
  const { first, last } = linearRegex(source);
  const find = (size: number) => [first, last].map((of) => of(`${run.repeat(size / run.length)}\0`));
  expect(await growthOf(find, 32_000, 1)).toBeLessThan(MOST_GROWTH);
});
