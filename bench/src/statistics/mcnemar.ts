import type { PairedCounts } from './paired.js';

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
