import { mean, sampleStandardDeviation } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { type BootstrapOptions, bootstrap } from '#bench/statistics/bootstrap.js';
import { Z } from '#src/numerics/proportion.js';

const values = Array.from({ length: 400 }, (_, i) => Math.sin(i * 12.9898) * 3);

const meanOf =
  (values: readonly number[], perGroup = 1) =>
  (multiplicities: Uint32Array): number => {
    const weights = values.map((_, i) => multiplicities[Math.floor(i / perGroup)]!);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return values.reduce((sum, value, i) => sum + value * weights[i]!, 0) / total;
  };

const estimate = (
  groups: number,
  statistic: (multiplicities: Uint32Array) => number,
  options?: BootstrapOptions,
) => bootstrap(groups, (multiplicities) => [statistic(multiplicities)], options)[0]!;

describe('bootstrap', () => {
  it('gives a mean about the interval of its standard error', () => {
    const { value, interval } = estimate(values.length, meanOf(values));
    const half = (Z[0.95] * sampleStandardDeviation(values)) / Math.sqrt(values.length);
    expect(value).toBeCloseTo(mean(values), 12);
    expect(Math.abs(interval![0] - (value - half)) / half).toBeLessThan(0.15);
    expect(Math.abs(interval![1] - (value + half)) / half).toBeLessThan(0.15);
  });

  it('draws whole groups: copies within them tell nothing new', () => {
    const copied = values.flatMap((value) => [value, value, value, value]);
    const of = estimate(values.length, meanOf(values));
    expect(estimate(values.length, meanOf(copied, 4))).toEqual({
      value: expect.closeTo(of.value, 9),
      interval: of.interval!.map((end) => expect.closeTo(end, 9)),
    });
  });

  it('shows all statistics the same resamples', () => {
    const [single, negated] = bootstrap(values.length, (multiplicities) => {
      const value = meanOf(values)(multiplicities);
      return [value, -value];
    });
    const [low, high] = single!.interval!;
    expect(negated).toEqual({
      value: -single!.value,
      interval: [expect.closeTo(-high, 12), expect.closeTo(-low, 12)],
    });
  });

  it('follows from its seed', () => {
    const run = (seed: number) => estimate(values.length, meanOf(values), { seed, resamples: 100 });
    expect(run(7)).toEqual(run(7));
    expect(run(8).interval).not.toEqual(run(7).interval);
  });

  it('draws as many groups as there are', () => {
    const totals: number[] = [];
    estimate(5, (multiplicities) => totals.push(multiplicities.reduce((sum, one) => sum + one, 0)), {
      resamples: 20,
    });
    expect(totals).toEqual(Array.from({ length: 21 }, () => 5));
  });

  it('leaves out resamples that the statistic is not defined for', () => {
    // The first group is missing from e⁻¹ of the resamples.
    const { interval } = estimate(20, (multiplicities) => (multiplicities[0]! > 0 ? 1 : Number.NaN));
    expect(interval).toEqual([1, 1]);
    expect(estimate(20, () => Number.NaN)).toEqual({ value: Number.NaN, interval: null });
    expect(estimate(0, () => Number.NaN).interval).toBeNull();
  });
});
