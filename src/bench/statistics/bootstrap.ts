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
 * Statistics with their percentile bootstrap intervals (Efron, 1979) over groups: steps of one answer depend on each
 * other, so whole answers are drawn again. All statistics see the same resamples. Resamples for which one is not defined
 * are left out of its interval; without any it has none.
 * @param statistics of the groups, each counted so often; always as many
 */
export function bootstrap(
  groups: number,
  statistics: (multiplicities: Uint32Array) => readonly number[],
  { seed = 1, resamples = 1000 }: BootstrapOptions = {},
): Estimate[] {
  const values = statistics(new Uint32Array(groups).fill(1));
  const resampled = values.map((): number[] => []);
  const random = mersenne(seed);
  for (let i = 0; groups > 0 && i < resamples; i += 1) {
    const multiplicities = new Uint32Array(groups);
    for (let drawn = 0; drawn < groups; drawn += 1) multiplicities[uniformInt(random, 0, groups - 1)]! += 1;
    for (const [j, value] of statistics(multiplicities).entries()) {
      if (!Number.isNaN(value)) resampled[j]!.push(value);
    }
  }
  return values.map((value, j) => ({ value, interval: percentiles(resampled[j]!) }));
}

function percentiles(values: number[]): Estimate['interval'] {
  return values.length === 0 ? null : [quantile(values, 0.025), quantile(values, 0.975)];
}
