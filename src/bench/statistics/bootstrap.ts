import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { quantile } from 'simple-statistics';
import type { Estimate } from './estimate.js';

export interface BootstrapOptions {
  /** A 32-bit integer: the same seed draws the same groups, so statistics of the same groups can be compared. */
  readonly seed?: number;
  readonly resamples?: number;
}

/**
 * A statistic with its percentile bootstrap interval (Efron, 1979) over groups: steps of one answer depend on each other,
 * so whole answers are drawn again. Resamples for which the statistic is not defined are left out; without one that is
 * there is no interval.
 * @param statistic of the groups, each counted so often
 */
export function bootstrap(
  groups: number,
  statistic: (multiplicities: Uint32Array) => number,
  { seed = 1, resamples = 1000 }: BootstrapOptions = {},
): Estimate {
  const value = statistic(new Uint32Array(groups).fill(1));
  const random = mersenne(seed);
  const values: number[] = [];
  for (let i = 0; groups > 0 && i < resamples; i += 1) {
    const multiplicities = new Uint32Array(groups);
    for (let drawn = 0; drawn < groups; drawn += 1) multiplicities[uniformInt(random, 0, groups - 1)]! += 1;
    const resampled = statistic(multiplicities);
    if (!Number.isNaN(resampled)) values.push(resampled);
  }
  if (values.length === 0) return { value, interval: null };
  return { value, interval: [quantile(values, 0.025), quantile(values, 0.975)] };
}
