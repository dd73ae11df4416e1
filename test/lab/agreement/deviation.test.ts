import { describe, expect, it } from 'vitest';
import { deviation } from '#lab/agreement/deviation.js';

describe('deviation', () => {
  it('has the largest and the mean difference, and the rank correlation', () => {
    const { rank, ...others } = deviation([1, 2, 3, 4], [1, 2.5, 3, 5]);
    expect(others).toEqual({ count: 4, max: 1, mean: 0.375 });
    expect(rank).toBeCloseTo(1, 12);
    expect(deviation([1, 2, 3], [3, 2, 1]).rank).toBeCloseTo(-1, 12);
  });

  it('has no rank correlation where one side tells none apart', () => {
    expect(deviation([1, 1, 1], [1, 2, 3]).rank).toBeNull();
    expect(deviation([1, 2], [1, 2]).rank).toBeNull();
  });

  it('refuses lists that differ in length, or are empty', () => {
    expect(() => deviation([1], [1, 2])).toThrow(RangeError);
    expect(() => deviation([], [])).toThrow(RangeError);
  });
});
