import type { OperatorFunction } from 'rxjs';
import { byTokenStatistic } from '../numerics/token-statistics.js';
import { isProbability, type Method, type Scores } from '../uncertainty/method-names.js';
import { checkFinite, SCORE_OF } from '../uncertainty/methods.js';
import type { Scoring } from '../uncertainty/settings.js';
import type { GenerationEvent, ScoreEvent, TokenEvent, WrittenEvent } from './events.js';
import { staged } from './stage.js';

/** Scores that come with the tokens, and those that come from passes. */
export interface SplitScoring {
  readonly written: readonly Method[];
  /** `null` without passes. */
  readonly passes: Scoring | null;
}

/**
 * The process that writes tells the scores that the probabilities of a token are, of the distribution that it was drawn
 * from: they wait for no pass. In int8 they are rounded, and find as many wrong steps (docs/results/detector.md). If a score
 * of a pass judges, all come from passes, whose tokens then are compared with nothing else.
 *
 * @param judge the method that judges, if one does
 */
export function splitScoring(scoring: Scoring, judge?: Method): SplitScoring {
  const { methods, schedule } = scoring;
  const written = methods.filter(isProbability);
  const all = written.length === methods.length;
  if (schedule.kind === 'offline' || (judge && !isProbability(judge)))
    return { written: [], passes: scoring };
  const rest = methods.filter((method) => !isProbability(method));
  return { written, passes: all ? null : { ...scoring, methods: rest } };
}

/**
 * Scores each token by what came with it, in the same moment and without a pass.
 *
 * Errors with an EngineError for a number that is not finite.
 * @param methods that are probabilities ({@link isProbability})
 * @param pending those that follow
 *
 * @example
 * generate(engine, { ...request, statistics: true }, gate).pipe(writtenScores(['nll']));
 */
export function writtenScores(
  methods: readonly Method[],
  pending: readonly Method[] = [],
): OperatorFunction<WrittenEvent, GenerationEvent> {
  return scoreBy((token) => ({ scores: scoresOf(token, methods), missing: [] }), pending);
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
 * @param pending methods that follow
 *
 * @example
 * written.pipe(scoreBy(({ logprob }) => ({ scores: { nll: -(logprob ?? 0) }, missing: [] })));
 */
export function scoreBy(
  scoresOf: (token: TokenEvent) => Required<Pick<ScoreEvent, 'scores' | 'missing'>>,
  pending: readonly Method[] = [],
): OperatorFunction<WrittenEvent, GenerationEvent> {
  return staged((emit) => ({
    next: (event) => {
      emit(event);
      if (event.type !== 'token.delta') return;
      const { index, part } = event;
      const { scores, missing } = scoresOf(event);
      const score = {
        type: 'score.delta',
        index,
        pass: 'stream',
        scores,
        skipped: [],
        ...(pending.length > 0 && { pending }),
        rival: null,
      } as const;
      // Most tokens take the first branch: spreading further fields is what costs most.
      if (!part && missing.length === 0) emit(score);
      else emit({ ...score, ...(part && { part }), ...(missing.length > 0 && { missing }) });
    },
  }));
}
