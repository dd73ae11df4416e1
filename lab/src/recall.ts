import { groupOf, LAST_OF_TIER, POSITIVE, type Ranking } from '#bench/statistics/ranking.js';

/**
 * The share of positive examples at or above a threshold, the lowest at which no more than `rate` of the
 * negative ones are: the findings of an alarm with the best threshold for these examples. NaN without one of
 * the two kinds.
 * @param weights how often the examples of each group count; once unless given
 */
export function recallAt({ examples }: Ranking, rate: number, weights?: Uint32Array): number {
  let positives = 0;
  let negatives = 0;
  for (const example of examples) {
    const weight = weights === undefined ? 1 : weights[groupOf(example)]!;
    if ((example & POSITIVE) !== 0) positives += weight;
    else negatives += weight;
  }
  if (positives === 0 || negatives === 0) return Number.NaN;
  let [found, falseAlarms, recall] = [0, 0, 0];
  for (const example of examples) {
    const weight = weights === undefined ? 1 : weights[groupOf(example)]!;
    if ((example & POSITIVE) !== 0) found += weight;
    else falseAlarms += weight;
    if (falseAlarms > rate * negatives) break;
    if ((example & LAST_OF_TIER) !== 0) recall = found / positives;
  }
  return recall;
}
