import { max, mean, sumSimple } from 'simple-statistics';

/** How the scores of a step's tokens become one: the largest, length-normalised, or summed, which favours long steps. */
export const AGGREGATIONS = ['max', 'mean', 'sum'] as const;

export type Aggregation = (typeof AGGREGATIONS)[number];

const AGGREGATE: Readonly<Record<Aggregation, (scores: number[]) => number>> = { max, mean, sum: sumSimple };

/** @param scores of the step's tokens, at least one; `null`, not attacked, counts as 0 */
export function aggregate(aggregation: Aggregation, scores: readonly (number | null)[]): number {
  return AGGREGATE[aggregation](scores.map((score) => score ?? 0));
}
