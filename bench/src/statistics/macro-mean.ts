import { mean } from 'simple-statistics';
import type { Estimate } from './estimate.js';

/**
 * The mean of independent estimates, each weighing alike, with the interval that follows from theirs: the distances of
 * their ends are squared and added (MOVER: Zou and Donner, Statistics in Medicine 27 (2008) 1693). Those that are not
 * defined are left out; without an interval of each of the others it has none.
 */
export function macroMean(estimates: readonly Estimate[]): Estimate {
  const defined = estimates.filter(({ value }) => !Number.isNaN(value));
  if (defined.length === 0) return { value: Number.NaN, interval: null };
  const value = mean(defined.map((one) => one.value));
  let [down, up] = [0, 0];
  for (const { value: centre, interval } of defined) {
    if (!interval) return { value, interval: null };
    down += (centre - interval[0]) ** 2;
    up += (interval[1] - centre) ** 2;
  }
  const size = defined.length;
  return { value, interval: [value - Math.sqrt(down) / size, value + Math.sqrt(up) / size] };
}
