/** Examples sorted into tiers of equal score, the highest first: once, however often they are weighted anew. */
export interface Ranking {
  /** Tier of each example. */
  readonly tierOf: Int32Array;
  readonly tiers: number;
  /** Of each example. */
  readonly positive: readonly boolean[];
}

/** @throws RangeError for a score that is not a number, or where there are not as many labels as scores */
export function rank(scores: readonly number[], positive: readonly boolean[]): Ranking {
  if (scores.length !== positive.length)
    throw new RangeError(`${scores.length} scores, but ${positive.length} labels`);
  if (scores.some(Number.isNaN)) throw new RangeError('a score is NaN');
  const distinct = Float64Array.from(new Set(scores)).sort().reverse();
  const tier = new Map(Array.from(distinct, (score, i) => [score, i]));
  return { tierOf: Int32Array.from(scores, (score) => tier.get(score)!), tiers: distinct.length, positive };
}

/** By tier, the highest first. */
export interface TierCounts {
  readonly positives: Float64Array;
  readonly negatives: Float64Array;
}

/**
 * Counts the examples of both kinds in each tier: what areas under curves are computed from.
 * @param weights how often each example counts; once unless given
 */
export function countTiers({ tierOf, tiers, positive }: Ranking, weights?: Uint32Array): TierCounts {
  const positives = new Float64Array(tiers);
  const negatives = new Float64Array(tiers);
  for (let i = 0; i < tierOf.length; i += 1) {
    (positive[i] ? positives : negatives)[tierOf[i]!]! += weights ? weights[i]! : 1;
  }
  return { positives, negatives };
}
