import { wilson as interval } from 'flinch/internals';
import type { Estimate } from './estimate.js';

/** A proportion with Wilson's interval of 95 %; without a trial it is NaN, anywhere in [0, 1]. */
export function wilson(successes: number, trials: number): Estimate {
  const { low, high } = interval(successes, trials);
  return { value: successes / trials, interval: [low, high] };
}
