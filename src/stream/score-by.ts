import type { OperatorFunction } from 'rxjs';
import type { GenerationEvent, ScoreEvent, TokenEvent, WrittenEvent } from './events.js';
import { staged } from './stage.js';

/**
 * Scores each token by what came with it, in the same moment and without a pass.
 *
 * @param scoresOf the scores of a token, and the methods that have none for it
 *
 * @example
 * written.pipe(scoreBy(({ logprob }) => ({ scores: { nll: -(logprob ?? 0) }, missing: [] })));
 */
export function scoreBy(
  scoresOf: (token: TokenEvent) => Required<Pick<ScoreEvent, 'scores' | 'missing'>>,
): OperatorFunction<WrittenEvent, GenerationEvent> {
  return staged((emit) => ({
    next: (event) => {
      emit(event);
      if (event.type !== 'token.delta') return;
      const { index, part } = event;
      const { scores, missing } = scoresOf(event);
      const score = { type: 'score.delta', index, pass: 'stream', scores, skipped: [], rival: null } as const;
      // Most tokens take the first branch: spreading further fields is what costs most.
      if (!part && missing.length === 0) emit(score);
      else emit({ ...score, ...(part && { part }), ...(missing.length > 0 && { missing }) });
    },
  }));
}
