import { describe, expect, it } from 'vitest';
import { chanceToHoldTop, holdsTops } from '#bench/steps/token-hits.js';

describe('holdsTops', () => {
  const scores = [0.1, 0.5, 0.5, 0.2, 0.5, 0.05];

  it('counts ties with the k-th highest', () => {
    expect(holdsTops(scores, { start: 4, end: 5 }, [1])).toEqual([true]);
    expect(holdsTops(scores, { start: 3, end: 4 }, [3])).toEqual([false]);
    expect(holdsTops(scores, { start: 3, end: 4 }, [4])).toEqual([true]);
  });

  it('is no hit of the lowest score', () => {
    expect(holdsTops([0, 0, 0], { start: 0, end: 2 }, [1])).toEqual([false]);
    expect(holdsTops([null, 0.1, null], { start: 2, end: 3 }, [3])).toEqual([false]);
    expect(holdsTops([null, 0.1, -0.1], { start: 2, end: 3 }, [2])).toEqual([true]);
    expect(holdsTops([null, 0.1, null], { start: 1, end: 3 }, [3])).toEqual([true]);
  });
});

describe('chanceToHoldTop', () => {
  it('is that of drawing k tokens without putting them back', () => {
    expect(chanceToHoldTop(300, 25, 3)).toBeCloseTo(0.23044937262912168, 12);
    expect(chanceToHoldTop(8, 2, 1)).toBeCloseTo(1 / 4, 12);
    expect(chanceToHoldTop(4, 2, 3)).toBe(1);
    expect(chanceToHoldTop(2, 1, 3)).toBe(1);
  });
});
