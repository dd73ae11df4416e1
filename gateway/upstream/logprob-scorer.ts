import { identity } from 'rxjs';
import type { BranchScorer } from '../../src/guard/branch.js';
import type { GenerationEvent, ScoreEvent, WrittenEvent } from '../../src/stream/events.js';
import { staged } from '../../src/stream/stage.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import { logprobScores } from './logprob-scores.js';
import type { UpstreamToken } from './upstream.js';

/**
 * The log-probabilities that a server sends with its tokens are their scores.
 *
 * @param methods those that they allow; none for a text that is not scored
 */
export function logprobScorer(methods: readonly Method[]): BranchScorer {
  const scored = staged<WrittenEvent, GenerationEvent>((emit) => ({
    next: (event) => {
      emit(event);
      if (event.type === 'token.delta') emit(scoreOf(event, event.index, methods));
    },
  }));
  const scorer: BranchScorer = {
    score: () => (methods.length === 0 ? identity : scored),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}

function scoreOf(token: UpstreamToken, index: number, methods: readonly Method[]): ScoreEvent {
  const { scores, missing } = logprobScores(token, methods);
  const score = { type: 'score.delta', index, pass: 'stream', scores, skipped: [], rival: null } as const;
  if (!token.part && missing.length === 0) return score;
  return { ...score, ...(token.part && { part: token.part }), ...(missing.length > 0 && { missing }) };
}
