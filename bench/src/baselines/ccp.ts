import type { TokenLogprob } from 'flinch';
import { isStopWord } from './stop-words.js';

/**
 * Claim Conditioned Probability (arXiv 2403.04696; IINemo/lm-polygraph, `claim_conditioned_probability.py` and
 * `greedy_alternatives_nli.py`): of the probability of what means the same as the token or the opposite, the share of
 * what means the same. What the token could have said about something else counts for nothing.
 */

/** Relation of one text to another; of words alone, without their context. */
export type Relation = 'entail' | 'contra' | 'neutral';

export interface Alternative extends TokenLogprob {
  readonly text: string;
}

/** K: alternatives of a token, itself among them. */
export const ALTERNATIVES = 10;

/** Python's `string.punctuation`, and white space. */
const AROUND = /^[\s!-/:-@[-`{-~]+|[\s!-/:-@[-`{-~]+$/g;

/** A token as a word: without punctuation and white space around it. May be empty. */
export const wordOf = (text: string): string => text.replace(AROUND, '');

/** Whether a word cannot be wrong: log CCP is 0 for function words, and for what is empty without its punctuation. */
export const isFunctional = (word: string): boolean => word === '' || isStopWord(word);

/**
 * The most probable tokens, the one that is there first and counted among them: where it is not one of the `k`, it takes
 * the place of the last.
 * @param top descending, at least `k` of them where the vocabulary has as many
 */
export function alternativesOf(
  token: TokenLogprob,
  top: readonly TokenLogprob[],
  k = ALTERNATIVES,
): TokenLogprob[] {
  const others = top.slice(0, k).filter(({ id }) => id !== token.id);
  return [token, ...others.slice(0, k - 1)];
}

/** Relation of two words from the relations in both directions. */
export function combineRelations(there: Relation, back: Relation): Relation {
  if (there === back) return there;
  if (there === 'neutral') return back;
  return back === 'neutral' ? there : 'neutral';
}

/**
 * log CCP ≤ 0 of one token: log Σ p(the same) − log Σ p(the same or the opposite).
 * @param logprobs of the alternatives, the token itself first
 * @param relations of each to the first, whose own is not read
 */
export function logCcp(logprobs: readonly number[], relations: readonly Relation[]): number {
  const such = (...kinds: readonly Relation[]): number[] =>
    logprobs.filter((_, i) => i === 0 || kinds.includes(relations[i]!));
  return logSumExp(such('entail')) - logSumExp(such('entail', 'contra'));
}

/** Uncertainty of a run of tokens: −Σ log CCP, which orders as −Π CCP does and cannot underflow. */
export const ccpUncertainty = (logCcps: readonly number[]): number =>
  logCcps.reduce((sum, value) => sum - value, 0);

function logSumExp(values: readonly number[]): number {
  const largest = Math.max(...values);
  return largest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
}
