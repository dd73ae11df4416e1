import { type Estimate, Z95 } from './estimate.js';

/**
 * A proportion with Wilson's score interval (1927), which also holds for few trials and for shares near 0 and 1. Without
 * a trial nothing is known: NaN, anywhere in [0, 1].
 */
export function wilson(successes: number, trials: number): Estimate {
  if (trials === 0) return { value: Number.NaN, interval: [0, 1] };
  const share = successes / trials;
  const scale = 1 + Z95 ** 2 / trials;
  const middle = (share + Z95 ** 2 / (2 * trials)) / scale;
  const half = (Z95 / scale) * Math.sqrt((share * (1 - share)) / trials + (Z95 / (2 * trials)) ** 2);
  // At 0 and 1 the end is the share itself, but for rounding.
  const low = successes === 0 ? 0 : middle - half;
  const high = successes === trials ? 1 : middle + half;
  return { value: share, interval: [low, high] };
}
