import { defer, type MonoTypeOperatorFunction, map } from 'rxjs';
import type { RiskModel } from '../risk/risk.js';
import { METHODS, type Method, type Scores } from '../uncertainty/method-names.js';
import type { GenerationEvent, ScoreEvent } from './events.js';

/**
 * Adds `risk`, the rank among ordinary scores, to each streaming score, for every method with a score and a rank.
 * Tokens inserted by the guard and tokens that were passed over are not rated, and the risk model does not learn from them. Final scores have another
 * scale and pass unrated.
 *
 * Ranks compare like with like only where passes end as they did when the ordinary scores were collected: under the
 * settings of the calibration, and where steps may begin ({@link StepAligner}, as `flinch calibrate` and
 * `guardedGeneration` do). Scores of `scoredGeneration`, whose blocks run on, are for a RunningRisk that sees no others.
 *
 * @example
 * const aligner = new StepAligner();
 * const begins = (text: string) => aligner.begins(text);
 * generate(engine, request, gate).pipe(score({ open, block: 8, gate, begins }), rateRisk(risks));
 */
export function rateRisk(risks: RiskModel): MonoTypeOperatorFunction<GenerationEvent> {
  return (source) =>
    defer(() => {
      /** Inserted tokens whose score has not come yet. */
      const inserted = new Set<number>();
      return source.pipe(
        map((event) => {
          if (event.type === 'token.delta' && event.inserted) inserted.add(event.index);
          const rated =
            event.type === 'score.delta' && event.pass === 'stream' && !inserted.delete(event.index);
          return rated && event.reason !== 'lag' ? { ...event, risk: riskOf(event, risks) } : event;
        }),
      );
    });
}

function riskOf({ index, scores, skipped }: ScoreEvent, risks: RiskModel): Scores {
  for (const method of skipped) risks.ofToken(method, Number.NEGATIVE_INFINITY, index);
  const rated = METHODS.flatMap((method): [Method, number][] => {
    const score = scores[method];
    const risk = score === undefined ? null : risks.ofToken(method, score, index);
    return risk === null ? [] : [[method, risk]];
  });
  return Object.fromEntries(rated);
}
