import { describe, expect, it } from 'vitest';
import { agreement } from '#lab/schedules/agreement.js';

describe('agreement', () => {
  it('is of ranks: the scale does not matter, the order does', () => {
    const scores = [3, 1, 4, 1.5, 9, 2.6, 5];
    expect(agreement(scores.map(Math.exp), scores)).toEqual({
      spearman: expect.closeTo(1, 12),
      top: 1,
      kept: 1,
    });
    expect(
      agreement(
        scores.map((score) => -score),
        scores,
      ),
    ).toEqual({
      spearman: expect.closeTo(-1, 12),
      kept: 1,
      top: 3 / 5, // of seven tokens, the five lowest and the five highest share three
    });
  });

  it('counts which of the five highest are found again', () => {
    const reference = [9, 8, 7, 6, 5, 0, 0, 0, 0, 0];
    const scores = [9, 8, 7, 1, 1, 6, 5, 0, 0, 0];
    expect(agreement(scores, reference).top).toBe(3 / 5);
  });

  it('ranks what both attack, and misses what was not attacked', () => {
    const reference = [6, 5, 4, 3, 2, 1];
    const scores = [60, null, 40, null, 20, 10];
    expect(agreement(scores, reference)).toEqual({
      spearman: expect.closeTo(1, 12),
      top: 3 / 5,
      kept: 3 / 5,
    });
  });

  it('compares as many tokens as the reference has, when those are few', () => {
    expect(agreement([1, 2, 3], [1, 2, 3]).top).toBe(1);
  });
});
