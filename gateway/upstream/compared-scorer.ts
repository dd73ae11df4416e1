import type { ForkableScorer } from '../../src/guard/engine-scorer.js';
import type { SequenceScorer, TokenScore } from '../../src/uncertainty/sequence-scorer.js';
import type { GenerationAgreement } from './alignment/agreement.js';

/**
 * A sequence scorer whose log-probabilities are compared with those that the server sent for the same tokens. It does
 * not use the server's: which tokens are doubtful is decided by its own.
 *
 * @param from index of the first token that it will be given
 */
export function comparedScorer(
  sequence: SequenceScorer,
  agreement: GenerationAgreement,
  from = 0,
): ForkableScorer {
  /** The server's log-probability of each token. */
  const sent: (number | undefined)[] = [];
  const compare = async (passes: Promise<TokenScore[]>): Promise<TokenScore[]> => {
    const scores = await passes;
    for (const { index, logprob } of scores) agreement.compare(logprob, sent[index - from] ?? null);
    return scores;
  };
  return {
    push: (tokens) => {
      sent.push(...tokens.map(({ logprob }) => logprob));
      return compare(sequence.push(tokens.map(({ logprob: _, ...token }) => token)));
    },
    finish: () => compare(sequence.finish()),
    fork: async (keep) => comparedScorer(await sequence.fork(keep), agreement, keep),
    close: () => sequence.close(),
  };
}
