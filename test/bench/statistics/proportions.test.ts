import { describe, expect, it } from 'vitest';
import { type Estimate, formatEstimate } from '#bench/statistics/estimate.js';
import { countPairs, mcnemar, pairedDifference } from '#bench/statistics/paired.js';
import { wilson } from '#bench/statistics/wilson.js';

const pairs = (both: number, onlyFirst: number, onlySecond: number, neither: number) => ({
  both,
  onlyFirst,
  onlySecond,
  neither,
});
const rounded = ({ value, interval }: Estimate) =>
  [value, ...(interval ?? [])].map((number) => Number(number.toFixed(4)));

describe('wilson', () => {
  // Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i in %i is the published interval', (successes, trials, low, high) => {
    expect(rounded(wilson(successes, trials)).slice(1)).toEqual([low, high]);
  });

  it('ends at the share itself where that is 0 or 1, and is everything without a trial', () => {
    expect(wilson(0, 7).interval?.[0]).toBe(0);
    expect(wilson(7, 7).interval?.[1]).toBe(1);
    expect(wilson(7, 7).interval?.[0]).toBeCloseTo(1 - wilson(0, 7).interval![1], 12);
    expect(wilson(0, 0)).toEqual({ value: Number.NaN, interval: [0, 1] });
  });
});

describe('mcnemar', () => {
  it('is the exact binomial test of the discordant pairs', () => {
    expect(mcnemar(pairs(9, 0, 5, 9))).toBeCloseTo(2 / 32, 12);
    expect(mcnemar(pairs(9, 5, 1, 9))).toBeCloseTo((2 * (1 + 6)) / 64, 12);
    // Sum of C(22, 0..6) is 110056: complete response of Cavo et al. (2012).
    expect(mcnemar(pairs(59, 6, 16, 80))).toBeCloseTo((2 * 110_056) / 2 ** 22, 12);
  });

  it('is 1 where the pairs are balanced or there are none', () => {
    expect(mcnemar(pairs(1, 3, 3, 1))).toBe(1);
    expect(mcnemar(pairs(4, 0, 0, 4))).toBe(1);
  });

  it('holds for many pairs: close to the chi-squared test with continuity correction', () => {
    // χ² = (|1100 − 900| − 1)² / 2000 = 19.80; p = 8.60e-6.
    expect(mcnemar(pairs(0, 900, 1100, 0)) / 8.6e-6).toBeCloseTo(1, 1);
  });
});

describe('pairedDifference', () => {
  it('is the published interval', () => {
    // Newcombe's interval of Cavo et al. (2012): Fagerland et al., Statistical Analysis of Contingency Tables, chapter 8.
    expect(rounded(pairedDifference(pairs(59, 6, 16, 80)))).toEqual([-0.0621, -0.1186, -0.0046]);
  });

  it('changes its sign with the order', () => {
    const [low, high] = pairedDifference(pairs(59, 6, 16, 80)).interval!;
    const { value, interval } = pairedDifference(pairs(59, 16, 6, 80));
    expect([value, ...interval!]).toEqual([10 / 161, expect.closeTo(-high, 12), expect.closeTo(-low, 12)]);
  });

  it.each([
    ['a way is always right', pairs(40, 10, 0, 0)],
    ['they are hardly correlated', pairs(25, 25, 24, 26)],
  ])('adds the squares of both ways alone where %s', (_, counts) => {
    const { both, onlyFirst, onlySecond, neither } = counts;
    const trials = both + onlyFirst + onlySecond + neither;
    const [first, second] = [onlyFirst, onlySecond].map((only) => {
      const { value, interval } = wilson(both + only, trials);
      return { down: value - interval![0], up: interval![1] - value };
    });
    const { value, interval } = pairedDifference(counts);
    expect(value - interval![0]).toBeCloseTo(Math.hypot(first!.down, second!.up), 12);
    expect(interval![1] - value).toBeCloseTo(Math.hypot(first!.up, second!.down), 12);
  });

  it('is narrower the more the two agree', () => {
    const widths = [pairs(40, 10, 10, 40), pairs(25, 25, 25, 25), pairs(20, 30, 30, 20)].map((counts) => {
      const [low, high] = pairedDifference(counts).interval!;
      return high - low;
    });
    expect(widths).toEqual(widths.toSorted((a, b) => a - b));
    expect(new Set(widths).size).toBe(3);
  });

  it('is everything without a pair', () => {
    expect(pairedDifference(pairs(0, 0, 0, 0))).toEqual({ value: Number.NaN, interval: [-1, 1] });
  });
});

describe('countPairs', () => {
  it('counts the four kinds of pairs', () => {
    const first = [true, true, true, false, false, true];
    const second = [true, false, false, true, false, true];
    expect(countPairs(first, second)).toEqual(pairs(2, 2, 1, 1));
    expect(() => countPairs([true], [])).toThrow('1 results cannot be paired with 0');
  });
});

describe('formatEstimate', () => {
  it('shows the interval where there is one', () => {
    expect(formatEstimate({ value: 0.8765, interval: [0.81, 0.92] }, 2)).toBe('0.88 [0.81, 0.92]');
    expect(formatEstimate({ value: 0.5, interval: null })).toBe('0.500');
    expect(formatEstimate({ value: Number.NaN, interval: [0, 1] })).toBe('–');
  });
});
