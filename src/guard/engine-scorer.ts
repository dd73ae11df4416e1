import { score, type TokenScorer } from '../stream/score.js';
import type { BranchScorer } from './branch.js';

/** Part of `SequenceScorer` that a branch uses. */
export interface ForkableScorer extends TokenScorer {
  /** Scores another continuation of the first `keep` tokens of the response. */
  fork(keep: number): Promise<ForkableScorer>;
}

/**
 * The engine scores. Continuations go on from copies of its keys and values.
 *
 * @param block the most tokens that a score may be behind, the schedule's block
 * @param lagTokens tokens that may wait for a pass before blocks are passed over; by default the text waits
 */
export function engineScorer(sequence: ForkableScorer, block: number, lagTokens?: number): BranchScorer {
  const kept: TokenScorer = {
    push: (tokens) => sequence.push(tokens),
    finish: () => sequence.finish(),
    passOver: (tokens) => sequence.passOver(tokens),
    close: () => {}, // it may be forked after its end
  };
  return {
    score: (scoring) => score({ open: async () => kept, block, lagTokens, ...scoring }),
    fork: async (keep) => engineScorer(await sequence.fork(keep), block, lagTokens),
    close: () => sequence.close(),
  };
}
