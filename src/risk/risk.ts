import type { Method } from '../uncertainty/method-names.js';

/**
 * Rank of a score among ordinary ones, in [0, 1], so that a threshold of 1 − rate raises an alarm for that
 * share of them. `null` while too few are known.
 */
export interface RiskModel {
  /** Whether ordinary scores of a method were collected beforehand, or are those seen so far. */
  calibrated(method: Method, of?: 'step' | 'answer'): boolean;
  /** @param index of the token in the response: where the scale depends on it, so does the rank */
  ofToken(method: Method, score: number, index: number): number | null;
  /** @param per among all ordinary steps, or the highest of each answer: `null` where these were not collected beforehand */
  ofStep(method: Method, score: number, per?: 'step' | 'answer'): number | null;
  /**
   * @param score of the whole answer, by its {@link statistic}
   * @param among ordinary answers, or all that were collected beforehand: `null` where none were
   */
  ofAnswer(method: Method, score: number, among?: 'ordinary' | 'all'): number | null;
  /** How the score of an answer is made; not there: by `sum`. */
  statistic?(method: Method): Statistic;
  /** How many answers an estimate has seen so far; not there where all scores were collected beforehand. */
  seenAnswers?(method: Method): number;
}

/**
 * The score of a step: the sum of those of its tokens that have one (docs/results/detector.md); −∞ for a step with none.
 */
export function stepScore(scores: readonly number[]): number {
  return scores.length === 0 ? Number.NEGATIVE_INFINITY : scores.reduce((a, b) => a + b, 0);
}

/** One doubtful step is common; an answer that goes wrong has several. */
const DOUBTFUL_STEPS = 3;

/**
 * The score of an answer: the mean of its three largest step scores, or of those that there are; −∞ for an answer with
 * none. Longer answers have larger ones by chance alone, as they have more steps to choose from: the rank among whole
 * answers of all lengths is right on average. Beside three scored steps another one can only raise it.
 *
 * @param steps one score each; −∞ for a step with none
 */
export function answerScore(steps: readonly number[]): number {
  const scores = steps.filter((score) => score !== Number.NEGATIVE_INFINITY);
  if (scores.length === 0) return Number.NEGATIVE_INFINITY;
  const largest = scores.toSorted((a, b) => b - a).slice(0, DOUBTFUL_STEPS);
  return largest.reduce((sum, score) => sum + score, 0) / largest.length;
}

/**
 * How the score of an answer is made of its tokens' scores: of the sums of its steps ({@link answerScore}), or as the mean or
 * the largest of all tokens. A sum grows with the length: where answers of a word and of many lines are mixed, it passes
 * every short one.
 */
export const STATISTICS = ['sum', 'mean', 'max'] as const;
export type Statistic = (typeof STATISTICS)[number];

/** Scores of an answer's steps, as of {@link stepScore}, and of its tokens; −∞ for what was skipped. */
export interface AnswerScores {
  readonly steps: readonly number[];
  readonly tokens: readonly number[];
}

/** The score of an answer by a statistic; −∞ for an answer with none. */
export function answerScoreBy(statistic: Statistic, { steps, tokens }: AnswerScores): number {
  if (statistic === 'sum') return answerScore(steps);
  const scores = tokens.filter((score) => score !== Number.NEGATIVE_INFINITY);
  if (statistic === 'max' || scores.length === 0)
    return scores.reduce((largest, score) => Math.max(largest, score), Number.NEGATIVE_INFINITY);
  return scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

/** Whether a risk raises an alarm at a target false-alarm rate; what cannot be rated yet raises none. */
export function isAlarm(risk: number | null, rate: number): boolean {
  return risk !== null && risk >= 1 - rate;
}
