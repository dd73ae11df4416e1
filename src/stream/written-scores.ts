import type { OperatorFunction } from 'rxjs';
import { byTokenStatistic } from '../numerics/token-statistics.js';
import { type Method, PROBABILITY_METHODS, type Scores } from '../uncertainty/method-names.js';
import { checkFinite, SCORE_OF } from '../uncertainty/methods.js';
import type { Scoring } from '../uncertainty/settings.js';
import type { GenerationEvent, ScoreEvent, TokenEvent, WrittenEvent } from './events.js';
import { staged } from './stage.js';

/**
 * Whether the process that writes can tell all scores: those that the probabilities of a token are, of the distribution
 * that it was drawn from. In int8 they are rounded, and find as many wrong steps (docs/results/detector.md).
 */
export function writesScores({ methods, schedule }: Pick<Scoring, 'methods' | 'schedule'>): boolean {
  const probabilities: readonly Method[] = PROBABILITY_METHODS;
  const known = methods.every((method) => probabilities.includes(method));
  return known && schedule.kind !== 'offline';
}

/** Whether the process that writes is asked for more than log-probabilities: all scores, or those of tokens in no pass. */
export const usesWritten = (scoring: Pick<Scoring, 'methods' | 'schedule'>): boolean =>
  writesScores(scoring) || scoring.schedule.kind === 'lazy';

/**
 * Scores each token by what came with it, in the same moment and without a pass.
 *
 * Errors with an EngineError for a number that is not finite.
 * @param methods of {@link PROBABILITY_METHODS}
 *
 * @example
 * generate(engine, { ...request, statistics: true }, gate).pipe(writtenScores(['nll']));
 */
export function writtenScores(methods: readonly Method[]): OperatorFunction<WrittenEvent, GenerationEvent> {
  return scoreBy((token) => ({ scores: scoresOf(token, methods), missing: [] }));
}

function scoresOf({ index, logprob, statistics }: TokenEvent, methods: readonly Method[]): Scores {
  // If they are not reported, no method needs them.
  const token = {
    logprob: logprob ?? Number.NaN,
    ...(statistics ?? byTokenStatistic(() => 0)),
    top: [],
    adversary: null,
    noise: [],
    tokur: [],
  };
  const scores = Object.fromEntries(methods.map((method) => [method, SCORE_OF[method](token)]));
  checkFinite(token, scores, index);
  return scores;
}

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
