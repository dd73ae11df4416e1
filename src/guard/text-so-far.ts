import type { OperatorFunction } from 'rxjs';
import { PartAligner } from '../steps/part-aligner.js';
import type { GenerationEvent, GuardEvent, ScoreEvent, TokenEvent, WrittenEvent } from '../stream/events.js';
import type { ScoreOptions } from '../stream/score.js';
import { fused, staged } from '../stream/stage.js';
import type { Continuation, Place } from './continuation.js';

/** Tokens and scores of a branch's text: of others, which it continues, and its own. */
export class TextSoFar {
  readonly #place: Place;
  /** Number of tokens that other branches wrote. */
  readonly keep: number;
  /** Tokens of the whole response. */
  readonly tokens: TokenEvent[];
  readonly #scores: ScoreEvent[];
  readonly #continued: boolean;

  private constructor(place: Place, tokens: TokenEvent[], scores: ScoreEvent[], continued = true) {
    this.#continued = continued;
    this.#place = place;
    this.keep = tokens.length;
    this.tokens = tokens;
    this.#scores = scores;
  }

  /** @param continued whether others may continue it: then all of it is kept */
  static begin(continued = true): TextSoFar {
    return new TextSoFar({ step: 0, from: 0 }, [], [], continued);
  }

  /** Its first `keep` tokens, to be continued in another way. */
  upTo({ keep, step, from }: Pick<Continuation, 'keep' | keyof Place>): TextSoFar {
    return new TextSoFar({ step, from }, this.tokens.slice(0, keep), this.#scores.slice(0, keep));
  }

  /**
   * Judges the branch's own text, together with the earlier part of the same step.
   * @param live gives its own tokens their scores; `begins` is to be asked of each token (`ScoreOptions.begins`)
   */
  follow(
    live: (begins: NonNullable<ScoreOptions['begins']>) => OperatorFunction<WrittenEvent, GenerationEvent>,
    judge: (place: Place) => OperatorFunction<GenerationEvent, GuardEvent>,
  ): OperatorFunction<WrittenEvent, GuardEvent> {
    const place = this.#place;
    const aligner = new PartAligner();
    for (const token of this.tokens) aligner.begins(token.text, token);
    // Tokens of the step that other branches wrote count in its verdict, and are not emitted again.
    const kept = [...this.tokens.slice(place.from), ...this.#scores.slice(place.from)];
    const again = new Set<GuardEvent>(kept);
    const scored = live((text, token) => aligner.begins(text, token));
    if (!this.#continued) return fused(scored, judge(place));
    const whole = staged<GenerationEvent, GenerationEvent>((emit) => {
      for (const event of kept) emit(event);
      return {
        next: (event) => {
          if (event.type === 'token.delta') this.tokens[event.index] = event;
          if (event.type === 'score.delta') this.#scores[event.index] = event;
          emit(event);
        },
      };
    });
    const own = staged<GuardEvent, GuardEvent>((emit) => ({
      next: (event) => {
        if (again.has(event) || (event.type === 'spike.detected' && event.index < this.keep)) return;
        // If a step was cut for its length, a pass may span the cut: settled scores stay as they are.
        if (event.type !== 'score.delta' || event.index >= place.from) emit(event);
      },
    }));
    return fused(fused(scored, whole), fused(judge(place), own));
  }
}
