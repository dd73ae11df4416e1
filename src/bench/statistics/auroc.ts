import { countTiers, type Ranking } from './ranking.js';

/**
 * Area under the ROC curve: how likely a positive example scores higher than a negative one, ties counting half
 * (Mann and Whitney, 1947). NaN where one of the two kinds is missing.
 * @param weights how often each example counts; once unless given
 */
export function auroc(ranking: Ranking, weights?: ArrayLike<number>): number {
  const { positives, negatives } = countTiers(ranking, weights);
  let above = 0;
  let below = 0;
  let won = 0;
  for (const [tier, tied] of positives.entries()) {
    won += negatives[tier]! * (above + tied / 2);
    above += tied;
    below += negatives[tier]!;
  }
  return won / (above * below);
}
