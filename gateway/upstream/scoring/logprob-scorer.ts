import { identity } from 'rxjs';
import type { BranchScorer } from '../../../src/guard/branch.js';
import { scoreBy } from '../../../src/stream/written-scores.js';
import type { Method } from '../../../src/uncertainty/method-names.js';
import { logprobScores } from './logprob-scores.js';

/**
 * The log-probabilities that a server sends with its tokens are their scores.
 *
 * @param methods those that they allow; none for a text that is not scored
 */
export function logprobScorer(methods: readonly Method[]): BranchScorer {
  const scorer: BranchScorer = {
    score: () => (methods.length === 0 ? identity : scoreBy((token) => logprobScores(token, methods))),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}
