import { mean, sampleRankCorrelation } from 'simple-statistics';

/** How far two programs' numbers of the same things are apart. */
export interface Deviation {
  readonly count: number;
  readonly max: number;
  readonly mean: number;
  /** Spearman's; `null` where one side tells none apart. */
  readonly rank: number | null;
}

/** @throws RangeError where they differ in number, or there are none */
export function deviation(ours: readonly number[], theirs: readonly number[]): Deviation {
  if (ours.length !== theirs.length || ours.length === 0) {
    throw new RangeError(`${ours.length} numbers against ${theirs.length}`);
  }
  const differences = ours.map((value, i) => Math.abs(value - theirs[i]!));
  const rank = ours.length < 3 ? Number.NaN : sampleRankCorrelation([...ours], [...theirs]);
  return {
    count: ours.length,
    max: Math.max(...differences),
    mean: mean(differences),
    rank: Number.isFinite(rank) ? rank : null,
  };
}
