import { sampleVariance } from 'simple-statistics';
import { type Interval, Z } from './proportion.js';

/** An estimate with its 95 % interval. */
export interface Estimated extends Interval {
  readonly value: number;
}

/** Scores of the same examples by one detector: of those that are to be found, and of all others. */
export interface Scored {
  readonly positive: readonly number[];
  readonly negative: readonly number[];
}

/**
 * Area under the ROC curve: how likely a positive example scores higher than a negative one, ties counting half. With
 * DeLong's interval (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988), cut to [0, 1].
 * @param scores of two examples of each kind at least
 */
export function auroc(scores: Scored): Estimated {
  const { value, low, high } = estimate(placements(scores));
  return { value, low: Math.max(0, low), high: Math.min(1, high) };
}

/** How much larger the area of `a` is than that of `b` on the same examples, which depend on each other (ibid.). */
export function aurocDifference(a: Scored, b: Scored): Estimated {
  const [ours, theirs] = [placements(a), placements(b)];
  const less = (x: readonly number[], y: readonly number[]): number[] => x.map((value, i) => value - y[i]!);
  return estimate({
    positive: less(ours.positive, theirs.positive),
    negative: less(ours.negative, theirs.negative),
  });
}

/** Of each positive example the share of negative ones below it; of each negative one the share of positive ones above. */
function placements({ positive, negative }: Scored): Scored {
  const share = (of: readonly number[], wins: (other: number) => number): number =>
    of.reduce((sum, other) => sum + wins(other), 0) / of.length;
  const above = (a: number, b: number): number => (a > b ? 1 : a === b ? 0.5 : 0);
  return {
    positive: positive.map((score) => share(negative, (other) => above(score, other))),
    negative: negative.map((score) => share(positive, (other) => above(other, score))),
  };
}

function estimate({ positive, negative }: Scored): Estimated {
  const value = positive.reduce((a, b) => a + b, 0) / positive.length;
  const variance =
    sampleVariance([...positive]) / positive.length + sampleVariance([...negative]) / negative.length;
  const spread = Z[0.95] * Math.sqrt(variance);
  return { value, low: value - spread, high: value + spread };
}
