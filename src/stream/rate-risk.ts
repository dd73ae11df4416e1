import type { MonoTypeOperatorFunction } from 'rxjs';
import type { RiskModel } from '../risk/risk.js';
import { METHODS, type Method, type Scores } from '../uncertainty/method-names.js';
import type { GenerationEvent, ScoreEvent } from './events.js';
import { staged } from './stage.js';

/**
 * Adds `risk`, the rank among ordinary scores, to each streaming score, for every method with a score and a rank.
 * Tokens that were passed over are not rated, and the risk model does not learn from them. Final scores have another
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
  return staged((emit) => ({
    next: (event) => {
      const rated = event.type === 'score.delta' && event.pass === 'stream' && event.reason !== 'lag';
      emit(rated ? { ...event, risk: riskOf(event, risks) } : event);
    },
  }));
}

function riskOf({ index, scores }: ScoreEvent, risks: RiskModel): Scores {
  const rated: Partial<Record<Method, number>> = {};
  for (const method of METHODS) {
    const score = scores[method];
    const risk = score === undefined ? null : risks.ofToken(method, score, index);
    if (risk !== null) rated[method] = risk;
  }
  return rated;
}
