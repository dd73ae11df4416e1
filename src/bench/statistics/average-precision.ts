import type { TierCounts } from './ranking.js';

/**
 * Precision at each distinct threshold from the highest down, weighted by the recall that it adds, not interpolated:
 * `average_precision_score` of scikit-learn. By chance it is the share of positives. NaN where there are none.
 */
export function averagePrecision({ positives, negatives }: TierCounts): number {
  let found = 0;
  let flagged = 0;
  let sum = 0;
  for (let tier = 0; tier < positives.length; tier += 1) {
    const added = positives[tier]!;
    found += added;
    flagged += added + negatives[tier]!;
    // A tier whose examples all weigh nothing is no threshold.
    if (added > 0) sum += added * (found / flagged);
  }
  return sum / found;
}
