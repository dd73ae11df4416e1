import { STATISTICS, type Statistic, stepScore } from 'flinch';

/** How the scores of a step's tokens become one: the largest, length-normalised, or summed, which favours long steps. */
export const AGGREGATIONS = STATISTICS;

export type Aggregation = Statistic;

/** As the guard does. @param scores of the step's tokens; `null` where the schedule skipped one */
export const aggregate = (aggregation: Aggregation, scores: readonly (number | null)[]): number =>
  stepScore(
    aggregation,
    scores.filter((score) => score !== null),
  );
