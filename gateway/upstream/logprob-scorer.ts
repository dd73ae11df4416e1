import { concatMap, identity } from 'rxjs';
import type { BranchScorer } from '../../src/guard/branch.js';
import type { GenerationEvent, ScoreEvent, WrittenEvent } from '../../src/stream/events.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import { logprobScores } from './logprob-scores.js';
import type { UpstreamToken } from './upstream.js';

/**
 * The log-probabilities that a server sends with its tokens are their scores.
 *
 * @param methods those that they allow; none for a text that is not scored
 */
export function logprobScorer(methods: readonly Method[]): BranchScorer {
  const withScore = (event: WrittenEvent): GenerationEvent[] =>
    event.type === 'token.delta' ? [event, scoreOf(event, event.index, methods)] : [event];
  const scorer: BranchScorer = {
    score: () => (methods.length === 0 ? identity : concatMap(withScore)),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}

function scoreOf(token: UpstreamToken, index: number, methods: readonly Method[]): ScoreEvent {
  const { scores, missing } = logprobScores(token, methods);
  const of = token.part && { part: token.part };
  const rest = missing.length > 0 ? { missing } : {};
  return { type: 'score.delta', index, ...of, pass: 'stream', scores, skipped: [], rival: null, ...rest };
}
