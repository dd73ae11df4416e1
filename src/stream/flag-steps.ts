import type { OperatorFunction } from 'rxjs';
import { isAlarm, type RiskModel } from '../risk/risk.js';
import { kindOfStep, type ScoredText, stepScore } from '../risk/step-score.js';
import type { Method } from '../uncertainty/method-names.js';
import type { GuardEvent, Rating, ScoreEvent, StepClosedEvent, StepEvent } from './events.js';
import { staged } from './stage.js';

export interface FlagOptions {
  readonly method: Method;
  /**
   * `step`: a step is flagged by the risk of its own score ({@link stepScore}). `answer`: by the rank of its score
   * among the highest steps of ordinary answers, so that the rate is one of answers with any flag.
   */
  readonly per: 'step' | 'answer';
  /** Target false-alarm rate per step or answer, in [0, 1]. */
  readonly rate: number;
  readonly risks: RiskModel;
}

/**
 * Turns each `step.closed` into `step.done`, the verdict, once all its tokens are scored or passed over.
 * Steps come in order, before `generation.done`. A step without scores, or
 * whose risk cannot be computed yet, is not flagged. A step with a token whose score is `missing` has no score and no
 * risk, because the other tokens do not represent the whole step. Where tokens were passed over, the sum of the
 * others is at most that of the step, so its risk is a lower bound.
 * `unscored` counts both kinds of tokens. Only streaming scores count.
 *
 * Errors if the stream ends while a score is outstanding, or if scores lack the method: unmeasured is not clean.
 *
 * @example
 * events.pipe(segmentSteps(), flagSteps({ method: 'adversarial', per: 'step', rate: 0.05, risks }));
 */
export function flagSteps(options: FlagOptions): OperatorFunction<GuardEvent | StepClosedEvent, GuardEvent> {
  return staged((emit) => {
    const verdicts = new Verdicts(options, emit);
    return {
      next: (event) => {
        if (event.type === 'step.closed') return verdicts.close(event);
        if (event.type === 'generation.done') verdicts.checkComplete();
        verdicts.observe(event);
        emit(event);
        if (event.type === 'score.delta') verdicts.decide();
      },
      end: () => verdicts.checkComplete(),
    };
  });
}

interface TokenRating {
  readonly score: number | null;
  readonly unscored: 'missing' | 'lag' | null;
}

class Verdicts {
  readonly #options: FlagOptions;
  readonly #texts = new Map<number, string>();
  readonly #tokens = new Map<number, TokenRating>();
  readonly #emit: (step: StepEvent) => void;
  readonly #waiting: StepClosedEvent[] = [];

  constructor(options: FlagOptions, emit: (step: StepEvent) => void) {
    this.#options = options;
    this.#emit = emit;
  }

  close(step: StepClosedEvent): void {
    this.#waiting.push(step);
    this.decide();
  }

  observe(event: GuardEvent): void {
    if (event.type === 'token.delta') this.#texts.set(event.index, event.text);
    if (event.type === 'score.delta' && event.pass === 'stream')
      this.#tokens.set(event.index, this.#rate(event));
  }

  /** Passes on the steps that are settled. */
  decide(): void {
    for (let step = this.#waiting[0]; step; step = this.#waiting[0]) {
      const ratings: (TokenRating & Pick<ScoredText, 'text'>)[] = [];
      for (let index = step.from; index < step.to; index++) {
        const rating = this.#tokens.get(index);
        if (!rating) return;
        ratings.push({ ...rating, text: this.#texts.get(index) ?? '' });
      }
      for (let index = step.from; index < step.to; index++) {
        this.#tokens.delete(index);
        this.#texts.delete(index);
      }
      this.#waiting.shift();
      const rating = this.#judge(step, ratings);
      const flagged = isAlarm(rating.risk, this.#options.rate) && rating.score !== null;
      const unscored = ratings.filter((token) => token.unscored !== null).length;
      this.#emit({ ...step, type: 'step.done', ...rating, flagged, ...(unscored > 0 && { unscored }) });
    }
  }

  checkComplete(): void {
    const step = this.#waiting[0];
    if (step) throw new Error(`flagSteps: the text ends while scores of step ${step.step} are missing`);
  }

  #rate({ index, scores, skipped, missing = [] }: ScoreEvent): TokenRating {
    const { method } = this.#options;
    const score = scores[method];
    if (score !== undefined) return { score, unscored: null };
    if (missing.includes(method)) return { score: null, unscored: 'missing' };
    if (skipped.includes(method)) return { score: null, unscored: 'lag' };
    throw new RangeError(`flagSteps: no ${method} among the scores of token ${index}`);
  }

  #judge({ step }: StepClosedEvent, tokens: readonly (TokenRating & Pick<ScoredText, 'text'>)[]): Rating {
    const { method, per, risks } = this.#options;
    const calibrated = risks.calibrated(method);
    const none = { method, score: null, risk: null, calibrated };
    if (tokens.some(({ unscored }) => unscored === 'missing')) return none;
    const scored = tokens.flatMap(({ text, score }) => (score === null ? [] : [{ text, score }]));
    if (scored.length === 0) return none;
    const score = stepScore(scored, step);
    // A running estimate learns from being asked: once per step.
    const kind = kindOfStep(tokens.map(({ text }) => text));
    return { method, score, risk: risks.ofStep(method, score, per, kind), calibrated };
  }
}
