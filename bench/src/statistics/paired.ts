import type { Estimate } from './estimate.js';
import { wilson } from './wilson.js';

/** How two ways did on the same problems. */
export interface PairedCounts {
  readonly both: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly neither: number;
}

/**
 * Counts the problems that both ways, one, or neither got right.
 * @throws RangeError where they are not as many
 */
export function countPairs(first: readonly boolean[], second: readonly boolean[]): PairedCounts {
  if (first.length !== second.length)
    throw new RangeError(`${first.length} results cannot be paired with ${second.length}`);
  const count = (a: boolean, b: boolean): number =>
    first.filter((right, i) => right === a && second[i] === b).length;
  return {
    both: count(true, true),
    onlyFirst: count(true, false),
    onlySecond: count(false, true),
    neither: count(false, false),
  };
}

/**
 * The two-sided p-value of McNemar's test (1947) that two ways are right equally often. Always the exact one: where only
 * one way is right, it is either by the toss of a coin; twice the smaller tail of that binomial, at most 1.
 */
export function mcnemar({ onlyFirst, onlySecond }: PairedCounts): number {
  const discordant = onlyFirst + onlySecond;
  let tail = 0;
  let logTerm = -discordant * Math.LN2;
  for (let k = 0; k <= Math.min(onlyFirst, onlySecond); k += 1) {
    tail += Math.exp(logTerm);
    logTerm += Math.log((discordant - k) / (k + 1));
  }
  return Math.min(1, 2 * tail);
}

/**
 * How much larger the first way's share of right answers is than the second's, with the interval of Newcombe, Statistics
 * in Medicine 17 (1998) 2635, method 10: Wilson's intervals of both shares, squared and added under the correlation of
 * the two. Unlike Wald's it holds for few discordant pairs. Without a pair: NaN, anywhere in [−1, 1].
 */
export function pairedDifference(counts: PairedCounts): Estimate {
  const { both, onlyFirst, onlySecond, neither } = counts;
  const pairs = both + onlyFirst + onlySecond + neither;
  if (pairs === 0) return { value: Number.NaN, interval: [-1, 1] };
  const first = reach(both + onlyFirst, pairs);
  const second = reach(both + onlySecond, pairs);
  const value = (onlyFirst - onlySecond) / pairs;
  const phi = correlation(counts, pairs);
  const combine = (a: number, b: number): number => Math.sqrt(a * a - 2 * phi * a * b + b * b);
  return {
    value,
    interval: [value - combine(first.down, second.up), value + combine(first.up, second.down)],
  };
}

/** How far Wilson's interval goes from the share to either side. */
function reach(successes: number, trials: number): { readonly down: number; readonly up: number } {
  const { value, interval } = wilson(successes, trials);
  const [low, high] = interval ?? [value, value];
  return { down: value - low, up: high - value };
}

/** Correlation of the two measures; a positive one is corrected for continuity, an undefined one is 0. */
function correlation({ both, onlyFirst, onlySecond, neither }: PairedCounts, pairs: number): number {
  const product = (both + onlyFirst) * (onlySecond + neither) * (both + onlySecond) * (onlyFirst + neither);
  if (product === 0) return 0;
  const covariance = both * neither - onlyFirst * onlySecond;
  return (covariance > 0 ? Math.max(covariance - pairs / 2, 0) : covariance) / Math.sqrt(product);
}
