import { groupOf, LAST_OF_TIER, POSITIVE, type Ranking } from '#bench/statistics/ranking.js';

/**
 * The share of positive examples at or above a threshold, for each rate: at the lowest threshold at which no more than
 * `rate` of the negative ones are. These are the findings of an alarm with the best threshold for these examples. NaN
 * without one of the two kinds.
 * @param rates in ascending order, so that one pass over the examples is enough
 * @param weights how often the examples of each group count; once unless given
 */
export function recallsAt({ examples }: Ranking, rates: readonly number[], weights?: Uint32Array): number[] {
  let positives = 0;
  let negatives = 0;
  for (const example of examples) {
    const weight = weights === undefined ? 1 : weights[groupOf(example)]!;
    if ((example & POSITIVE) !== 0) positives += weight;
    else negatives += weight;
  }
  if (positives === 0 || negatives === 0) return rates.map(() => Number.NaN);
  const recalls: number[] = [];
  let [found, falseAlarms, recall] = [0, 0, 0];
  for (const example of examples) {
    const weight = weights === undefined ? 1 : weights[groupOf(example)]!;
    if ((example & POSITIVE) !== 0) found += weight;
    else falseAlarms += weight;
    while (falseAlarms > rates[recalls.length]! * negatives) recalls.push(recall);
    if (recalls.length === rates.length) return recalls;
    if ((example & LAST_OF_TIER) !== 0) recall = found / positives;
  }
  return [...recalls, ...rates.slice(recalls.length).map(() => recall)];
}
