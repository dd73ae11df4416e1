/**
 * How likely a step is among the k highest when ties are broken at random: with `a` steps above it, and `t` that score
 * as it does, itself included, 0 where a ≥ k, else (k − a) / t, at most 1. Discrete scores have many ties.
 */
export function chanceAmongTop(scores: readonly number[], step: number, k: number): number {
  const own = scores[step]!;
  const above = scores.filter((score) => score > own).length;
  if (above >= k) return 0;
  const tied = scores.filter((score) => score === own).length;
  return Math.min(1, (k - above) / tied);
}
