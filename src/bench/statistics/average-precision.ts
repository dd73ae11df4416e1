import { countTiers, type Ranking } from './ranking.js';

/**
 * Precision at each distinct threshold from the highest down, weighted by the recall that it adds, not interpolated:
 * `average_precision_score` of scikit-learn. By chance it is the share of positives. NaN where there are none.
 * @param weights how often each example counts; once unless given
 */
export function averagePrecision(ranking: Ranking, weights?: ArrayLike<number>): number {
  const { positives, negatives } = countTiers(ranking, weights);
  let found = 0;
  let flagged = 0;
  let sum = 0;
  for (const [tier, added] of positives.entries()) {
    found += added;
    flagged += added + negatives[tier]!;
    // A tier whose examples all weigh nothing is no threshold.
    if (added > 0) sum += added * (found / flagged);
  }
  return sum / found;
}
