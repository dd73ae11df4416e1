import { variance } from 'simple-statistics';
import { EngineError } from '../engine/engine-errors.js';
import type { PassToken, Rival, TokenProbability } from '../engine/engine-messages.js';
import { byTokenStatistic } from '../numerics/token-statistics.js';
import type { Method, Scores } from './method-names.js';

/** Results of the passes for one token. */
export interface Measured extends TokenProbability, Pick<PassToken, 'adversary'> {
  /** One value for each copy with noise on its embeddings. */
  readonly noise: readonly number[];
  /** Values in the order of `TOKUR_METHODS`. */
  readonly tokur: readonly number[];
}

/**
 * Adv. Pert. (arXiv 2602.02427): f(H) − f(H − α·sgn g), how much the log-probability of the token falls when the
 * embeddings before it move against it. Natural log; may be negative, as the gradient is that of a sum. The pass that
 * computes it is built by `src/graphs/score-graph.ts` and run by `src/engine/child/score-pass.ts`.
 */
function adversarial({ adversary }: Pick<Measured, 'adversary'>): number {
  if (!adversary) throw new Error('adversarial: the pass had no adversary');
  return adversary.fall;
}

/**
 * Rand. Pert. (arXiv 2602.02427): the population variance of log P(token) over draws of Δ ~ N(0, σ²I) on every
 * embedding of the text. Natural log.
 * @param values log P(token), one per draw
 */
export const random = (values: readonly number[]): number => variance([...values]);

/** −log p(x): natural log, temperature 1, full vocabulary (docs/design/evaluation.md, section 1). */
const nll = ({ logprob }: Pick<Measured, 'logprob'>): number => -logprob;

const tokur =
  (index: number) =>
  (token: Measured): number =>
    token.tokur[index] ?? Number.NaN;

export const SCORE_OF: Readonly<Record<Method, (token: Measured) => number>> = {
  adversarial,
  random: ({ noise }) => random(noise),
  tokur_eu: tokur(0),
  tokur_tu: tokur(1),
  tokur_au: tokur(2),
  nll,
  ...byTokenStatistic((name) => (token: Measured) => token[name]),
};

/**
 * The other token whose probability grew most; `null` if none grew, or without an adversary. If the token itself gains,
 * all others may fall, and then it wavers towards none of them.
 */
export function rivalOf({ adversary }: Pick<PassToken, 'adversary'>): Rival | null {
  if (adversary === null) return null;
  const { rival } = adversary;
  return rival.after > rival.before ? rival : null;
}

/**
 * A number that is not finite is a failure of scoring, never a score. All that the pass says of a token counts, asked
 * for or not: next to a logit of −∞ the token's own log-probability is finite, and its entropy, 0 · −∞, is not.
 */
export function checkFinite(token: Omit<Measured, 'noise' | 'tokur'>, scores: Scores, index: number): void {
  const { logprob, adversary } = token;
  const numbers: Readonly<Record<string, number>> = {
    logprob,
    ...byTokenStatistic((name) => token[name]),
    ...(adversary && {
      'fall of the log-probability': adversary.fall,
      'probability of the rival before': adversary.rival.before,
      'probability of the rival after': adversary.rival.after,
    }),
    ...scores,
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isFinite(value)) {
      throw new EngineError('failed', `scoring failed: ${name} of token ${index} is ${value}`);
    }
  }
}
