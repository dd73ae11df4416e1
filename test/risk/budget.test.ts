import { describe, expect, it } from 'vitest';
import { hash32 } from '#src/numerics/noise.js';
import { Budget } from '#src/risk/budget.js';

/** Uniform in [0, 1), the same for each run. */
const uniform = (i: number): number => (hash32(i, 7) >>> 0) / 2 ** 32;

/** Of an answer without a score. */
const NONE = Number.NEGATIVE_INFINITY;

/** Scores of 100 answers of a kind. */
const TRAFFIC: Readonly<Record<string, (i: number) => number>> = {
  'that stays as it is': (i) => uniform(i),
  'that becomes more doubtful half way': (i) => uniform(i) + (i < 50 ? 0 : 1),
  'that becomes less doubtful half way': (i) => uniform(i) - (i < 50 ? 0 : 1),
  'each of which is more doubtful than all before': (i) => i,
  'that are all the same': () => 1,
  'with three scores': (i) => Math.floor(3 * uniform(i)),
  'half of which have no score': (i) => (i % 2 === 0 ? NONE : uniform(i)),
};

const taken = (share: number, scores: readonly number[]): boolean[] => {
  const budget = new Budget();
  return scores.map((score) => budget.takes(share, score));
};
const count = (takes: readonly boolean[]): number => takes.filter(Boolean).length;
const hundred = (score: (i: number) => number) => Array.from({ length: 100 }, (_, i) => score(i));

describe.each([0.1, 0.2, 0.3, 0.5])('a budget of %d', (share) => {
  it.each(Object.entries(TRAFFIC))('is kept within 5 of 100 answers %s', (_, score) => {
    // Equal scores are taken once the budget has a whole level left: the lower the share, the later.
    if (share === 0.1 && score(0) === score(1)) return;
    expect(Math.abs(count(taken(share, hundred(score))) - 100 * share)).toBeLessThanOrEqual(5);
  });

  it('is at no time exceeded by more than 4 answers', () => {
    for (let seed = 0; seed < 20; seed++) {
      const scores = hundred((i) => uniform(1000 * seed + i) + seed * 0.01 * i);
      let ahead = 0;
      for (const isTaken of taken(share, scores)) {
        ahead += (isTaken ? 1 : 0) - share;
        expect(ahead).toBeLessThanOrEqual(4);
      }
    }
  });
});

it('takes the answers with the highest scores', () => {
  const scores = Array.from({ length: 1000 }, (_, i) => uniform(i));
  const highest = taken(0.3, scores).map((isTaken, i) => isTaken && scores[i]! > 0.7);
  // A simulation: 0.82 of them. By chance it would be 0.3.
  expect(count(highest) / 300).toBeGreaterThan(0.75);
});

it('of 1 takes every answer that has a score', () => {
  expect(taken(1, [3, NONE, 2, 1])).toEqual([true, false, true, true]);
});

it('can change while it is kept', () => {
  const budget = new Budget();
  const takes = (share: number, from: number) =>
    count(Array.from({ length: 100 }, (_, i) => budget.takes(share, uniform(from + i))));
  expect(takes(0.1, 0)).toBeLessThan(15);
  expect(Math.abs(takes(0.5, 100) - 50)).toBeLessThanOrEqual(5);
});
