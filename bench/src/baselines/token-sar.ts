/**
 * TokenSAR (arXiv 2307.01379; jinhaoduan/SAR and IINemo/lm-polygraph, `token_sar.py`): −log P of each token, weighted by
 * how much of the meaning goes with it.
 */

export interface TokenSar {
  /** R, between 0 and 1: what the text loses in similarity to itself without the token. */
  readonly relevance: readonly number[];
  /** E = −log P · R / Σ R. */
  readonly tokens: readonly number[];
  /** Σ E. */
  readonly sum: number;
}

/** Similarity for a text that has one token only: without it nothing is left to compare. */
export const SIMILARITY_OF_ONE = 0.5;

/**
 * @param logprobs natural log, one for each token of a sequence: a step, or the whole response
 * @param similarities of the sequence to itself without the token, 0 to 1. An encoder may leave that range a little:
 *   relevance is cut off at 0. Where no token matters to it, all weigh the same
 * @throws RangeError where they differ in number
 */
export function tokenSar(logprobs: readonly number[], similarities: readonly number[]): TokenSar {
  if (logprobs.length !== similarities.length) {
    throw new RangeError(`similarities: ${similarities.length} for ${logprobs.length} tokens`);
  }
  const relevance = similarities.map((similarity) => Math.max(0, 1 - similarity));
  const total = relevance.reduce((sum, value) => sum + value, 0);
  const weights = relevance.map((value) => (total > 0 ? value / total : 1 / relevance.length));
  const tokens = logprobs.map((logprob, i) => -logprob * weights[i]!);
  return { relevance, tokens, sum: tokens.reduce((sum, value) => sum + value, 0) };
}

/** The sequence without each of its tokens in turn: that one place, not every token of the same text. */
export function withoutEach(tokenTexts: readonly string[]): string[] {
  return tokenTexts.map((_, i) => tokenTexts.toSpliced(i, 1).join(''));
}
