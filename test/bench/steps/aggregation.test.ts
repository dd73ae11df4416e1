import { describe, expect, it } from 'vitest';
import { AGGREGATIONS, aggregate } from '#bench/steps/aggregation.js';

describe('aggregate', () => {
  it('takes the largest, the mean or the sum of the tokens that have a score', () => {
    const of = (scores: (number | null)[]) => AGGREGATIONS.map((how) => aggregate(how, scores));
    expect(of([1, 5, null, 3])).toEqual([5, 3, 9]);
    expect(of([-3, null])).toEqual([-3, -3, -3]);
    expect(of([null, null])).toEqual(Array(3).fill(Number.NEGATIVE_INFINITY));
    expect(of([-3])).toEqual([-3, -3, -3]);
  });
});
