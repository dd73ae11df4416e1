import { expect, it } from 'vitest';
import { jsonText, withExactNumbers } from '#gateway/requests/exact-numbers.js';
import { growthOf, MOST_GROWTH } from '../../support/growth.js';

it('exact numbers are found in time by the length of the text', async () => {
  const find = (count: number): void => {
    const long = `{"a":"${'x1.0\\"'.repeat(10 * count)}","b":[${'1.10,'.repeat(count)}0]}`;
    expect(jsonText(withExactNumbers(long, JSON.parse(long)))).toBe(long);
  };
  expect(await growthOf(find, 10_000, 2)).toBeLessThan(MOST_GROWTH);
});
