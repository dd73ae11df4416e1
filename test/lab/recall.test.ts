import { describe, expect, it } from 'vitest';
import { rank } from '#bench/statistics/ranking.js';
import { recallAt } from '#lab/recall.js';

describe('recallAt', () => {
  // Three of four positive examples are above all but one of four negative ones.
  const ranking = rank([9, 8, 7, 6, 5, 4, 3, 2], [true, true, false, true, false, false, true, false]);

  it('is the share of positive examples at the lowest threshold that the rate allows', () => {
    expect(recallAt(ranking, 0)).toBe(0.5);
    expect(recallAt(ranking, 0.25)).toBe(0.75);
    expect(recallAt(ranking, 0.74)).toBe(0.75);
    expect(recallAt(ranking, 0.75)).toBe(1);
  });

  it('does not part examples of one score', () => {
    expect(recallAt(rank([1, 1, 0], [true, false, false]), 0.4)).toBe(0);
    expect(recallAt(rank([1, 1, 0], [true, false, false]), 0.5)).toBe(1);
  });

  it('counts the examples of a group so often', () => {
    const grouped = rank([3, 2, 1], [true, false, true], [0, 1, 2]);
    expect(recallAt(grouped, 0, Uint32Array.of(3, 1, 1))).toBe(0.75);
    expect(recallAt(grouped, 0, Uint32Array.of(3, 0, 1))).toBeNaN();
  });
});
