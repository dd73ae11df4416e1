import type { ActionName, DoneEvent, GuardEvent, Rating } from '../../src/stream/events.js';
import type { ErrorCode } from '../error-codes.js';
import type { GenerationSeries } from './generations.js';
import type { GuardSeries } from './guard-series.js';
import type { Exemplar } from './histogram.js';

/** The series of one model. */
export interface ModelSeries {
  readonly generations: GenerationSeries;
  readonly guard: GuardSeries;
}

export interface Clock {
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

export interface Observed {
  readonly responseId: string;
  /** When it was taken on, by the clock. */
  readonly beganMs: number;
  /** What its guard is set to. */
  readonly action: ActionName;
  /** Whether steps are held back. */
  readonly held: boolean;
}

/** Takes the measures of one generation from its events. */
export class GenerationObserver {
  readonly #series: ModelSeries;
  readonly #clock: Clock;
  readonly #observed: Observed;
  /** When each token of the response went out, by index; of responses of which nothing is held back. */
  readonly #sentMs: number[] = [];
  #firstMs: number | null = null;
  /** The flagged step whose `step.done` is still to come: it has been counted. */
  #judged: number | null = null;
  #over = false;

  constructor(series: ModelSeries, observed: Observed, clock: Clock) {
    this.#series = series;
    this.#observed = observed;
    this.#clock = clock;
  }

  /** Whether a token has come. */
  get begun(): boolean {
    return this.#firstMs !== null;
  }

  event(event: GuardEvent): void {
    const { guard } = this.#series;
    switch (event.type) {
      case 'token.delta':
        this.#token(event.index);
        break;
      case 'score.delta':
        guard.token(event);
        this.#lag(event.index);
        break;
      case 'spike.detected':
        guard.spike(event.method);
        break;
      case 'step.flagged':
        guard.flagged(this.#observed.action, event.action);
        this.#judge(event);
        this.#judged = event.step;
        break;
      case 'step.done':
        if (this.#judged !== event.step) this.#judge(event);
        this.#judged = null;
        if (event.held) guard.held(event.held.ms / 1000);
        break;
      case 'rollback.done':
        guard.rolledBack(event.outcome);
        // Another step stands there now, which has a verdict of its own.
        if (event.outcome === 'replaced') this.#judged = null;
        break;
      case 'token.retracted':
        guard.retracted(event.tokens);
        this.#sentMs.length = Math.min(this.#sentMs.length, event.from);
        break;
      case 'generation.done':
        this.#done(event);
    }
  }

  failed(code: ErrorCode): void {
    if (this.#over) return;
    this.#over = true;
    const seconds = this.#secondsAt(this.#clock.now());
    this.#series.generations.failed(code, seconds, this.#exemplar(seconds));
  }

  cancelled(): void {
    if (this.#over) return;
    this.#over = true;
    this.#series.generations.cancelled();
  }

  #done(done: DoneEvent): void {
    this.#over = true;
    const ms = this.#clock.now();
    const { generations } = this.#series;
    const { completionTokens } = done.usage;
    if (this.#firstMs !== null && completionTokens > 1) {
      const seconds = (ms - this.#firstMs) / 1000 / (completionTokens - 1);
      generations.perToken(seconds, this.#exemplar(seconds));
    }
    const seconds = this.#secondsAt(ms);
    generations.done(done, seconds, this.#exemplar(seconds));
  }

  #token(index: number): void {
    const ms = this.#observed.held && this.#firstMs !== null ? 0 : this.#clock.now();
    if (this.#firstMs === null) {
      this.#firstMs = ms;
      const seconds = this.#secondsAt(ms);
      this.#series.generations.firstToken(seconds, this.#exemplar(seconds));
    }
    if (!this.#observed.held) this.#sentMs[index] = ms;
  }

  #lag(index: number): void {
    if (this.#observed.held) return;
    const sent = this.#sentMs[index];
    // Scores may come first, where a token waits for those before it.
    if (sent === undefined) this.#series.guard.lag(0, 0);
    else this.#series.guard.lag(this.#sentMs.length - 1 - index, (this.#clock.now() - sent) / 1000);
  }

  #judge(step: Rating): void {
    const exemplar = step.risk === null ? undefined : this.#exemplar(step.risk);
    this.#series.guard.judged(this.#observed.action, step, exemplar);
  }

  #secondsAt(ms: number): number {
    return (ms - this.#observed.beganMs) / 1000;
  }

  #exemplar(value: number): Exemplar {
    return { responseId: this.#observed.responseId, value, time: this.#clock.date() / 1000 };
  }
}
