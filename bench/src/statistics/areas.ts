import { groupOf, LAST_OF_TIER, POSITIVE, type Ranking } from './ranking.js';

export interface Areas {
  /**
   * Area under the ROC curve: how likely a positive example scores higher than a negative one, ties counting half
   * (Mann and Whitney, 1947). NaN where one of the two kinds is missing.
   */
  readonly auroc: number;
  /**
   * Precision at each distinct threshold from the highest down, weighted by the recall that it adds, not interpolated:
   * `average_precision_score` of scikit-learn. By chance it is the share of positives. NaN where there are none.
   */
  readonly averagePrecision: number;
}

/**
 * Both areas in one pass over the examples, as bootstraps ask for them a thousand times.
 * @param weights how often the examples of each group count; once unless given
 */
export function areas({ examples }: Ranking, weights?: Uint32Array): Areas {
  let above = 0;
  let below = 0;
  let won = 0;
  let precision = 0;
  // Weights of the examples of the current tier, so far.
  let positives = 0;
  let negatives = 0;
  for (let i = 0; i < examples.length; i += 1) {
    const example = examples[i]!;
    const weight = weights === undefined ? 1 : weights[groupOf(example)]!;
    if ((example & POSITIVE) !== 0) positives += weight;
    else if ((example & LAST_OF_TIER) !== 0 && positives === 0 && negatives === 0) {
      // Most examples are negative, and a tier of their own.
      won += weight * above;
      below += weight;
      continue;
    } else negatives += weight;
    if ((example & LAST_OF_TIER) === 0) continue;
    won += negatives * (above + positives / 2);
    above += positives;
    below += negatives;
    // A tier whose examples all weigh nothing is no threshold.
    if (positives > 0) precision += positives * (above / (above + below));
    positives = negatives = 0;
  }
  return { auroc: won / (above * below), averagePrecision: precision / above };
}
