import type { TierCounts } from './ranking.js';

/**
 * Area under the ROC curve: how likely a positive example scores higher than a negative one, ties counting half
 * (Mann and Whitney, 1947). NaN where one of the two kinds is missing.
 */
export function auroc({ positives, negatives }: TierCounts): number {
  let above = 0;
  let below = 0;
  let won = 0;
  for (let tier = 0; tier < positives.length; tier += 1) {
    const tied = positives[tier]!;
    won += negatives[tier]! * (above + tied / 2);
    above += tied;
    below += negatives[tier]!;
  }
  return won / (above * below);
}
