import type { Method } from '../uncertainty/method-names.js';
import type { TextKind, WeighedScore } from './step-score.js';

/**
 * Rank of a score among ordinary ones, in [0, 1], so that a threshold of 1 − rate raises an alarm for that
 * share of them. `null` while too few are known.
 */
export interface RiskModel {
  /** Whether ordinary scores of a method were collected beforehand, or are those seen so far. */
  calibrated(method: Method, of?: 'step' | 'answer'): boolean;
  /** @param index of the token in the response: where the scale depends on it, so does the rank */
  ofToken(method: Method, score: number, index: number): number | null;
  /**
   * @param per among ordinary steps, or the highest of each answer: `null` where these were not collected beforehand
   * @param kind among those of this kind, if they are enough
   */
  ofStep(method: Method, score: number, per?: 'step' | 'answer', kind?: TextKind): number | null;
  /**
   * @param score of the whole answer, by its {@link statistic}
   * @param among ordinary answers, or all that were collected beforehand: `null` where none were
   * @param kind among those of this kind, if they are enough
   */
  ofAnswer(method: Method, score: number, among?: 'ordinary' | 'all', kind?: TextKind): number | null;
  /** How the score of an answer is made; not there: by `sum`. */
  statistic?(method: Method): Statistic;
  /** How many answers an estimate has seen so far; not there where all scores were collected beforehand. */
  seenAnswers?(method: Method): number;
}

/**
 * How the score of an answer is made of its tokens' scores: Σ w · score / √Σ w of the `weigh`ed scores, which grows with
 * the length, but less than a sum, so that answers of a sentence and of many can be compared; or the mean or the largest.
 */
export const STATISTICS = ['sum', 'mean', 'max'] as const;
export type Statistic = (typeof STATISTICS)[number];

/**
 * The score of an answer; −∞ for one without a score.
 * @param tokens those that have a score
 */
export function answerScore(tokens: readonly WeighedScore[], statistic: Statistic = 'sum'): number {
  if (tokens.length === 0) return Number.NEGATIVE_INFINITY;
  if (statistic === 'max')
    return tokens.reduce((most, { score }) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  if (statistic === 'mean') return tokens.reduce((sum, { score }) => sum + score, 0) / tokens.length;
  let [sum, weights] = [0, 0];
  for (const { score, weight } of tokens) {
    sum += weight * score;
    weights += weight;
  }
  return sum / Math.sqrt(weights);
}

/** Whether a risk raises an alarm at a target false-alarm rate; what cannot be rated yet raises none. */
export function isAlarm(risk: number | null, rate: number): boolean {
  return risk !== null && risk >= 1 - rate;
}
