import { describe, expect, it } from 'vitest';
import { groupedWilson, wilson } from '#src/numerics/proportion.js';

describe('intervals of proportions', () => {
  it("are Wilson's", () => {
    // statsmodels: proportion_confint(10, 100, method='wilson'); with none, z² / (n + z²)
    expect(wilson(10, 100)).toEqual({
      low: expect.closeTo(0.05522914, 6),
      high: expect.closeTo(0.17436566, 6),
    });
    expect(wilson(0, 20)).toEqual({ low: 0, high: expect.closeTo(0.1611252, 6) });
    expect(wilson(7, 7)).toEqual({ low: expect.any(Number), high: 1 });
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
  });

  it('are as for single trials where groups are not alike', () => {
    const groups = Array.from({ length: 100 }, (_, i) => ({ successes: i % 10 === 0 ? 1 : 0, trials: 1 }));
    const [grouped, single] = [groupedWilson(groups), wilson(10, 100)];
    expect(grouped.low).toBeCloseTo(single.low, 2);
    expect(grouped.high).toBeCloseTo(single.high, 2);
  });

  it('are as wide as those of the groups where all of a group goes one way', () => {
    const groups = Array.from({ length: 100 }, (_, i) => ({ successes: i % 10 === 0 ? 50 : 0, trials: 50 }));
    const [grouped, single] = [groupedWilson(groups), wilson(10, 100)];
    expect(grouped.low).toBeCloseTo(single.low, 2);
    expect(grouped.high).toBeCloseTo(single.high, 2);
  });
});
