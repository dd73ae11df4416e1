import type { GuardEvent, ScoreEvent, StepEvent } from '../stream/events.js';

/** The text of a response as it was emitted. */
export class EmittedText {
  readonly emit: (event: GuardEvent) => void;
  /** The latest score of each token of the steps that are not settled. */
  readonly scores = new Map<number, ScoreEvent>();
  /** Tokens that have been emitted and not retracted. */
  #tokens = 0;

  constructor(emit: (event: GuardEvent) => void) {
    this.emit = emit;
  }

  get tokens(): number {
    return this.#tokens;
  }

  pass(event: GuardEvent): void {
    if (event.type === 'token.delta') this.#tokens = event.index + 1;
    if (event.type === 'score.delta') this.scores.set(event.index, event);
    this.emit(event);
  }

  /** Emits the last word on a step. */
  conclude(step: StepEvent): void {
    for (const index of this.scores.keys()) if (index < step.to) this.scores.delete(index);
    this.emit(step);
  }

  retract(from: number): void {
    if (this.#tokens > from) this.emit({ type: 'token.retracted', from, tokens: this.#tokens - from });
    this.#tokens = Math.min(this.#tokens, from);
    for (const index of this.scores.keys()) if (index >= from) this.scores.delete(index);
  }
}
