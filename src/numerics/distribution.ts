/**
 * Ordinary scores, as what is left of them in a file: some of their order statistics. Those that were skipped
 * are among them as −∞, so that a rate is one of all tokens (or steps).
 */
export interface Distribution {
  /** n, those skipped included. */
  readonly count: number;
  readonly skipped: number;
  /** The score of rank ⌈level · n⌉ for each of the levels, ascending; −∞ where that rank was skipped. */
  readonly quantiles: readonly number[];
  /** How many scores are lower than each of the quantiles; only there where some of them have equals. */
  readonly below?: readonly number[] | undefined;
}

const DIGITS = 5;
/** Shares of the scores that lie above a level, in each decade: flags ask for the rare ones. */
const TAIL = [1, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.125];

/** Levels to keep for up to `count` scores: tenths up to 0.9, then ever finer up to 1 − 1/count, and 1, the largest. */
export function levelsFor(count: number): number[] {
  const levels = Array.from({ length: 9 }, (_, i) => i / 10);
  for (let decade = 0.1; decade * count >= 1; decade /= 10) {
    levels.push(...TAIL.filter((share) => share * decade * count >= 1).map((share) => 1 - share * decade));
  }
  return [...levels.map((level) => Number(level.toPrecision(12))), 1];
}

/** Rank of a level among n, from 1. The margin is for products such as 0.07 · 100, which exceed a whole number. */
export const rankAt = (level: number, count: number): number =>
  Math.min(count, Math.max(1, Math.ceil(level * count - 1e-9)));

/** @param scores at least one, in any order; −∞ for what was skipped */
export function distributionOf(scores: readonly number[], levels: readonly number[]): Distribution {
  const sorted = Float64Array.from(scores).sort();
  const ranks = levels.map((level) => rankAt(level, sorted.length));
  const below = ranks.map((rank) => lowerBound(sorted, sorted[rank - 1]!));
  const skipped = lowerBound(sorted, -Number.MAX_VALUE);
  // Quantiles that were skipped are never looked up.
  const tied = ranks.some((rank, i) => rank > skipped && below[i] !== rank - 1);
  return {
    count: sorted.length,
    skipped,
    quantiles: ranks.map((rank) => roundUp(sorted[rank - 1]!)),
    ...(tied && { below }),
  };
}

/** Upwards: rounded down, a quantile would lie below its equals, which would then rank above themselves. */
function roundUp(score: number): number {
  const rounded = Number(score.toPrecision(DIGITS));
  if (rounded >= score) return rounded;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(score))) + 1 - DIGITS);
  return Number((rounded + unit).toPrecision(DIGITS));
}

/**
 * Conformal rank (Vovk et al., Algorithmic Learning in a Random World, 2005): #{ordinary < score} / (n + 1), from 0 to
 * n / (n + 1). A fresh ordinary score ranks at or above 1 − rate with a probability of at most `rate`, so rates below
 * 1 / (n + 1) never raise an alarm. Between two quantiles the count is interpolated, up to those that are lower than
 * the upper one: its equals rank no higher than they do exactly. It never falls as scores rise.
 */
export function conformalRank(distribution: Distribution, levels: readonly number[], score: number): number {
  const { count, skipped, quantiles } = distribution;
  const upper = lowerBound(quantiles, score);
  if (upper === 0) return 0;
  if (upper === quantiles.length) return count / (count + 1);
  const [low, high] = [quantiles[upper - 1]!, quantiles[upper]!];
  const above = low === Number.NEGATIVE_INFINITY;
  const least = above ? skipped : rankAt(levels[upper - 1]!, count);
  const most = lowerThan(distribution, levels, upper);
  const share = above ? 0 : (score - low) / (high - low);
  return (least + share * (most - least)) / (count + 1);
}

/** How many scores are lower than a quantile. */
const lowerThan = ({ count, below }: Distribution, levels: readonly number[], quantile: number): number =>
  below ? below[quantile]! : rankAt(levels[quantile]!, count) - 1;

/**
 * The score above which an alarm is raised at a rate: −∞ where every token with a score raises one, `null` where none
 * can, as there are too few ordinary scores for a rate this low.
 */
export function thresholdAt(
  distribution: Distribution,
  levels: readonly number[],
  rate: number,
): number | null {
  const { count, skipped, quantiles } = distribution;
  const needed = (1 - rate) * (count + 1);
  if (needed > count) return null;
  if (needed <= skipped) return Number.NEGATIVE_INFINITY;
  const upper = levels.findIndex((level) => rankAt(level, count) >= needed);
  const [low, high] = [quantiles[upper - 1] ?? Number.NEGATIVE_INFINITY, quantiles[upper]!];
  const least = rankAt(levels[upper - 1] ?? 0, count);
  const most = lowerThan(distribution, levels, upper);
  if (low === Number.NEGATIVE_INFINITY || most <= least) return high;
  return low + Math.min(1, (needed - least) / (most - least)) * (high - low);
}

/** Index of the first element of a sorted list that is not below `value`; its length if there is none. */
export function lowerBound(sorted: ArrayLike<number>, value: number, length = sorted.length): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
