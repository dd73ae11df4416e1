import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { quantile } from 'simple-statistics';
import type { Estimate } from './estimate.js';

export interface BootstrapOptions {
  /** A 32-bit integer: the same seed draws the same groups, so statistics of the same groups can be compared. */
  readonly seed?: number;
  readonly resamples?: number;
}

/** A statistic, and what it was in each resample; NaN where it is not defined. */
export interface Resampled {
  readonly value: number;
  readonly resamples: Float64Array;
}

/**
 * Statistics of groups that are drawn again (Efron, 1979): steps of one answer depend on each other, so whole answers
 * are. All statistics see the same resamples.
 * @param statistics of the groups, each counted so often; always as many
 */
export function resample(
  groups: number,
  statistics: (multiplicities: Uint32Array) => readonly number[],
  { seed = 1, resamples = 1000 }: BootstrapOptions = {},
): Resampled[] {
  const multiplicities = new Uint32Array(groups).fill(1);
  const all = statistics(multiplicities).map((value) => ({
    value,
    resamples: new Float64Array(groups > 0 ? resamples : 0),
  }));
  const random = mersenne(seed);
  for (let i = 0; groups > 0 && i < resamples; i += 1) {
    multiplicities.fill(0);
    for (let drawn = 0; drawn < groups; drawn += 1) multiplicities[uniformInt(random, 0, groups - 1)]! += 1;
    for (const [j, value] of statistics(multiplicities).entries()) all[j]!.resamples[i] = value;
  }
  return all;
}

/**
 * Its percentile interval. Resamples for which the statistic is not defined are left out; without any other it has none.
 */
export function percentileInterval({ value, resamples }: Resampled): Estimate {
  const defined = [...resamples].filter((one) => !Number.isNaN(one));
  return {
    value,
    interval: defined.length === 0 ? null : [quantile(defined, 0.025), quantile(defined, 0.975)],
  };
}

/** {@link resample}d statistics with their percentile intervals. */
export const bootstrap = (...of: Parameters<typeof resample>): Estimate[] =>
  resample(...of).map(percentileInterval);

/**
 * How much larger one statistic is than another of the same resamples, with the percentile interval, and the two-sided
 * p-value that they are equal: twice the share of resamples on the other side of 0, itself counted as one, at most 1
 * (Davison and Hinkley, Bootstrap Methods and their Application, 1997, equation 4.11).
 */
export function bootstrapDifference(a: Resampled, b: Resampled): { difference: Estimate; p: number } {
  const differences = a.resamples.map((value, i) => value - b.resamples[i]!);
  const defined = differences.filter((one) => !Number.isNaN(one));
  const tail = Math.min(defined.filter((one) => one <= 0).length, defined.filter((one) => one >= 0).length);
  return {
    difference: percentileInterval({ value: a.value - b.value, resamples: differences }),
    p: Math.min(1, (2 * (tail + 1)) / (defined.length + 1)),
  };
}
