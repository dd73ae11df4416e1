import type { Method } from './method.js';

/** What of a step's token scores stands for the step. `mean` is length-normalised; a sum would favour short steps. */
export const STATISTICS = ['max', 'mean'] as const;
export type Statistic = (typeof STATISTICS)[number];

/**
 * Where a score stands among ordinary ones: its rank in [0, 1], so that a threshold of 1 − rate raises an alarm for
 * that share of them. `null` while too few are known to tell.
 */
export interface RiskModel {
  /** Whether ordinary scores were collected beforehand, or are those seen so far. */
  readonly calibrated: boolean;
  /** @param index of the token in the response: where the scale depends on it, so does the rank */
  ofToken(method: Method, score: number, index: number): number | null;
  ofStep(method: Method, statistic: Statistic, score: number): number | null;
}
