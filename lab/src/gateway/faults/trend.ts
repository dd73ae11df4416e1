import { linearRegression } from 'simple-statistics';
import { groupBy } from '#bench/report/group-by.js';
import { bootstrap } from '#bench/statistics/bootstrap.js';
import type { Estimate } from '#bench/statistics/estimate.js';

const [MINUTE, HOUR] = [60, 3600];

/**
 * How fast a value grows, in units an hour: the slope of the straight line through all samples. Samples of one minute
 * depend on each other, so whole minutes are drawn again for the interval.
 */
export function trend(samples: readonly { readonly seconds: number; readonly value: number }[]): Estimate {
  const minutes = [...groupBy(samples, ({ seconds }) => `${Math.floor(seconds / MINUTE)}`).values()];
  const slope = (multiplicities: Uint32Array): readonly number[] => {
    const points = minutes.flatMap((minute, i) =>
      Array.from({ length: multiplicities[i]! }, () =>
        minute.map(({ seconds, value }) => [seconds / HOUR, value]),
      ).flat(),
    );
    return [points.length < 2 ? Number.NaN : linearRegression(points).m];
  };
  return bootstrap(minutes.length, slope)[0]!;
}
