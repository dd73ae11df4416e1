import { groupOf, LAST_OF_TIER, POSITIVE, type Ranking } from './ranking.js';

/**
 * How many of the k answers with the lowest scores are right, for k from 0 to all: what is kept when those with the highest
 * scores are rejected. Positive examples are wrong answers. Of answers that tie, as many are right as on average over
 * their orders.
 * @param weights how often the examples of each group count; once unless given
 * @returns at least one number more than there are answers with a weight, the first 0
 */
export function keptRight({ examples }: Ranking, weights?: Uint32Array): Float64Array {
  const weightOf = (example: number): number => (weights === undefined ? 1 : weights[groupOf(example)]!);
  let answers = 0;
  for (let i = 0; i < examples.length; i += 1) answers += weightOf(examples[i]!);
  const kept = new Float64Array(1 + answers);
  // Answers and right ones below the current tier, then those of the tier so far.
  let below = 0;
  let right = 0;
  let size = 0;
  let rightOfTier = 0;
  for (let i = examples.length - 1; i >= 0; i -= 1) {
    const example = examples[i]!;
    const weight = weightOf(example);
    size += weight;
    if ((example & POSITIVE) === 0) rightOfTier += weight;
    if (i > 0 && (examples[i - 1]! & LAST_OF_TIER) === 0) continue;
    const share = rightOfTier / size;
    for (let k = 1; k <= size; k += 1) kept[below + k] = right + k * share;
    below += size;
    right += rightOfTier;
    size = 0;
    rightOfTier = 0;
  }
  return kept;
}

/** What sums of shares are wrong by at most. */
const ROUNDING = 1e-9;

/**
 * Prediction–rejection ratio (Malinin et al., arXiv 2104.01407), as LM-Polygraph computes it (`PredictionRejectionArea` and
 * `normalize_metric`, 0.7.0) with a quality of 1 for a right answer and 0 for a wrong one: (A − A of random rejection) / (A
 * of an oracle − A of random rejection). A is the mean accuracy of the answers that are kept while 0, 1, … answers are
 * rejected. 1: all wrong answers go first, 0: no better than chance. It differs from
 * LM-Polygraph in two ways, which agree with it on average: answers that tie count as the mean over their orders, where it
 * takes the order that its sort gives; and random rejection is its expectation, the accuracy of all, not the mean of 1000
 * draws. NaN where nothing can be told: there is no right or no wrong answer, or a single size.
 * @param kept as {@link keptRight} has them
 */
export function predictionRejectionRatio(kept: Float64Array): number {
  const n = kept.length - 1;
  const right = kept[n]!;
  let [area, oracle] = [0, 0];
  for (let k = 1; k <= n; k += 1) {
    area += kept[k]! / k;
    oracle += Math.min(k, right) / k;
  }
  // Rounding aside they are equal only where the oracle has nothing to choose.
  if (oracle - right < ROUNDING) return Number.NaN;
  const gained = area - right;
  return Math.abs(gained) < ROUNDING ? 0 : gained / (oracle - right);
}

/** How many of n answers are read where those with a share of the highest scores are. */
export const readOf = (n: number, share: number): number => Math.round(share * n);

/** Wrong answers among the share with the highest scores. */
export function wrongAmong(kept: Float64Array, share: number): number {
  const n = kept.length - 1;
  const left = n - readOf(n, share);
  return n - left - (kept[n]! - kept[left]!);
}
