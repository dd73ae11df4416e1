import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAlarm } from '#src/index.js';
import { conformalRank, distributionOf, levelsFor, rankAt, thresholdAt } from '#src/numerics/distribution.js';

/** n scores from 1/n to 1, in no particular order. */
const even = (n: number): number[] => Array.from({ length: n }, (_, i) => (((i * 7919) % n) + 1) / n);

const shareBelow = (scores: readonly number[], score: number): number =>
  scores.filter((other) => other < score).length / (scores.length + 1);

const scoreLists = fc.array(
  fc.oneof(
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.integer({ min: -3, max: 3 }), // ties
    fc.constant(Number.NEGATIVE_INFINITY),
  ),
  { minLength: 1, maxLength: 300 },
);

describe('a distribution', () => {
  it('has levels ever finer towards the top, as far as the count goes', () => {
    expect(levelsFor(10)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
    const levels = levelsFor(1e6);
    for (const level of [0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1 - 1e-6, 1]) expect(levels).toContain(level);
    expect(levels.length).toBeLessThan(80);
    expect(levels).toEqual(levels.toSorted((a, b) => a - b));
  });

  it('is exact in the tail, where every score is kept, and close elsewhere', () => {
    const scores = even(1000);
    const levels = levelsFor(1000);
    const distribution = distributionOf(scores, levels);
    for (const score of [0.9905, 0.9925, 0.9985, 0.9995, 1, 1.5]) {
      expect(conformalRank(distribution, levels, score)).toBeCloseTo(shareBelow(scores, score), 3);
    }
    for (const score of [0.0005, 0.1234, 0.5, 0.77, 0.9321]) {
      expect(Math.abs(conformalRank(distribution, levels, score) - shareBelow(scores, score))).toBeLessThan(
        0.002,
      );
    }
  });

  it('never ranks at 1: what exceeds all of n scores ranks at n / (n + 1)', () => {
    const levels = levelsFor(99);
    const distribution = distributionOf(even(99), levels);
    expect(conformalRank(distribution, levels, 2)).toBe(0.99);
    expect(conformalRank(distribution, levels, Number.POSITIVE_INFINITY)).toBe(0.99);
    expect(conformalRank(distribution, levels, 0)).toBe(0);
    expect(thresholdAt(distribution, levels, 0.009)).toBeNull();
    expect(thresholdAt(distribution, levels, 0.02)).not.toBeNull();
  });

  it('ranks equals no higher than they do exactly', () => {
    // 19 % of the scores are the largest: those rank at 81 / 101, though levels from 0.9 on hold their score.
    const scores = [...even(81).map((score) => score / 2), ...Array.from({ length: 19 }, () => 0.7)];
    const levels = levelsFor(100);
    const distribution = distributionOf(scores, levels);
    expect(conformalRank(distribution, levels, 0.7)).toBeCloseTo(81 / 101, 12);
    expect(thresholdAt(distribution, levels, 0.12)).toBe(0.7);
    expect(distributionOf(even(100), levels)).not.toHaveProperty('below');
  });

  it('ranks no score higher than exactly where it equals a quantile, and elsewhere by less than a level', () => {
    fc.assert(
      fc.property(scoreLists, (scores) => {
        const levels = levelsFor(scores.length);
        const distribution = distributionOf(scores, levels);
        const sorted = scores.toSorted((a, b) => a - b);
        const kept = new Set(levels.map((level) => sorted[rankAt(level, scores.length) - 1]!));
        for (const score of scores) {
          const excess = conformalRank(distribution, levels, score) - shareBelow(scores, score);
          expect(excess).toBeLessThan(kept.has(score) ? 1e-9 : 0.1 + 1e-9);
        }
      }),
    );
  });

  it('keeps the rate on its own scores where all of them have many equals', () => {
    // At most eight, so that each of them is the score of some tenth.
    const ties = fc.uniqueArray(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 8 });
    const rates = fc.double({ min: 0.001, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(ties, fc.integer({ min: 10, max: 40 }), rates, (values, equals, rate) => {
        const scores = values.flatMap((value) => Array.from({ length: equals }, () => value));
        const levels = levelsFor(scores.length);
        const distribution = distributionOf(scores, levels);
        const alarms = scores.filter((score) => isAlarm(conformalRank(distribution, levels, score), rate));
        expect(alarms.length / scores.length).toBeLessThanOrEqual(rate);
      }),
    );
  });

  it('counts what was skipped as below all scores', () => {
    const scores = [...Array.from({ length: 90 }, () => Number.NEGATIVE_INFINITY), ...even(10)];
    const levels = levelsFor(100);
    const distribution = distributionOf(scores, levels);
    expect(distribution.skipped).toBe(90);
    expect(conformalRank(distribution, levels, Number.NEGATIVE_INFINITY)).toBe(0);
    expect(conformalRank(distribution, levels, 0.01)).toBeCloseTo(90 / 101, 10);
    expect(conformalRank(distribution, levels, 2)).toBeCloseTo(100 / 101, 10);
    expect(thresholdAt(distribution, levels, 0.2)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('ranks between 0 and n / (n + 1), and never lower for a higher score', () => {
    const queries = fc.array(fc.double({ min: -4, max: 4, noNaN: true }), { minLength: 2, maxLength: 30 });
    fc.assert(
      fc.property(scoreLists, queries, (scores, asked) => {
        const levels = levelsFor(scores.length);
        const distribution = distributionOf(scores, levels);
        const ranks = [...asked, ...scores]
          .toSorted((a, b) => a - b)
          .map((score) => conformalRank(distribution, levels, score));
        expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
        expect(ranks[0]).toBeGreaterThanOrEqual(0);
        expect(ranks.at(-1)).toBeLessThanOrEqual(scores.length / (scores.length + 1));
      }),
    );
  });

  it('alarms above its threshold and not below', () => {
    fc.assert(
      fc.property(scoreLists, fc.double({ min: 0.001, max: 0.5, noNaN: true }), (scores, rate) => {
        const levels = levelsFor(scores.length);
        const distribution = distributionOf(scores, levels);
        const threshold = thresholdAt(distribution, levels, rate);
        const alarms = (score: number): boolean => conformalRank(distribution, levels, score) >= 1 - rate;
        if (threshold === null) {
          expect(alarms(100)).toBe(false);
        } else {
          const lowest = Math.max(threshold, -100); // "every score" is −∞
          expect(alarms(lowest + 1e-6)).toBe(true);
          if (threshold > -100) expect(alarms(threshold - 1e-4 - 1e-4 * Math.abs(threshold))).toBe(false);
        }
      }),
    );
  });
});
