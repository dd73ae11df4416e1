/** How the scores of a step's tokens become one: the largest, length-normalised, or summed, which favours long steps. */
export const AGGREGATIONS = ['max', 'mean', 'sum'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** One value for each aggregation. */
export const byAggregation = <T>(of: (how: Aggregation) => T): Readonly<Record<Aggregation, T>> => ({
  max: of('max'),
  mean: of('mean'),
  sum: of('sum'),
});

/** @param scores of the step's tokens; `null` where one was skipped. @returns −∞ for a step without scores */
export function aggregate(how: Aggregation, scores: readonly (number | null)[]): number {
  const known = scores.filter((score) => score !== null);
  if (known.length === 0) return Number.NEGATIVE_INFINITY;
  if (how === 'max') return known.reduce((a, b) => Math.max(a, b));
  const sum = known.reduce((a, b) => a + b, 0);
  return how === 'sum' ? sum : sum / known.length;
}
