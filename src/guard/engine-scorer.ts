import { score, type TokenScorer } from '../stream/score.js';
import type { BranchScorer } from './branch.js';

/** What a branch needs of a `SequenceScorer`. */
export interface ForkableScorer extends TokenScorer {
  /** Scores another continuation of the first `keep` tokens of the response. */
  fork(keep: number): Promise<ForkableScorer>;
}

/**
 * The engine scores. Continuations go on from copies of its keys and values.
 *
 * @param block the most tokens that a score may be behind, the schedule's block
 */
export function engineScorer(sequence: ForkableScorer, block: number): BranchScorer {
  const kept: TokenScorer = {
    push: (tokens) => sequence.push(tokens),
    finish: () => sequence.finish(),
    close: () => {}, // it may be forked after its end
  };
  return {
    score: (scoring) => score({ open: async () => kept, block, ...scoring }),
    fork: async (keep) => engineScorer(await sequence.fork(keep), block),
    close: () => sequence.close(),
  };
}
