import { describe, expect, it } from 'vitest';
import { AGGREGATIONS, aggregate } from '#bench/steps/aggregation.js';

describe('aggregate', () => {
  it('takes the largest, the mean or the sum; a token that was not attacked counts as 0', () => {
    const of = (scores: (number | null)[]) => AGGREGATIONS.map((how) => aggregate(how, scores));
    expect(of([1, 5, null, 2])).toEqual([5, 2, 8]);
    expect(of([-3, null])).toEqual([0, -1.5, -3]);
    expect(of([-3])).toEqual([-3, -3, -3]);
  });
});
