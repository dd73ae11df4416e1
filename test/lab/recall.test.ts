import { describe, expect, it } from 'vitest';
import { rank } from '#bench/statistics/ranking.js';
import { recallsAt } from '#lab/recall.js';

describe('recallsAt', () => {
  // Three of four positive examples are above all but one of four negative ones.
  const ranking = rank([9, 8, 7, 6, 5, 4, 3, 2], [true, true, false, true, false, false, true, false]);

  it('is the share of positive examples at the lowest threshold that the rate allows', () => {
    expect(recallsAt(ranking, [0, 0.25, 0.74, 0.75, 1])).toEqual([0.5, 0.75, 0.75, 1, 1]);
    expect(recallsAt(ranking, [0.75])).toEqual([1]);
  });

  it('does not part examples of one score', () => {
    expect(recallsAt(rank([1, 1, 0], [true, false, false]), [0.4, 0.5])).toEqual([0, 1]);
  });

  it('counts the examples of a group so often', () => {
    const grouped = rank([3, 2, 1], [true, false, true], [0, 1, 2]);
    expect(recallsAt(grouped, [0], Uint32Array.of(3, 1, 1))).toEqual([0.75]);
    expect(recallsAt(grouped, [0], Uint32Array.of(3, 0, 1))).toEqual([Number.NaN]);
  });
});
