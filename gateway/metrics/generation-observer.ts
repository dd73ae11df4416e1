import type { ActionName, DoneEvent, GuardEvent, Rating } from '../../src/stream/events.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import type { GenerationListener } from '../answers/answer-news.js';
import type { ErrorCode } from '../errors/codes.js';
import type { Exemplar } from './exposition.js';
import type { GenerationSeries } from './generation-metrics.js';
import type { GuardSeries } from './guard-metrics.js';

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
  /** Time at which it was taken on, by the clock. */
  readonly beganMs: number;
  /** Method and action of its guard. */
  readonly method: Method;
  readonly action: ActionName;
  /** Whether steps are held back. */
  readonly held: boolean;
  /** Whether scores follow the tokens. */
  readonly scored: boolean;
  /** A further answer to one question: its scores and steps are not counted, which would be no ordinary ones. */
  readonly further?: boolean;
}

/**
 * Measures one generation by its events: scores and guard by the events that are written, times by the events that go
 * to the client. These are the same events unless steps are held back: then text that the guard removed never goes
 * out, but still counts.
 */
export class GenerationObserver {
  readonly #series: ModelSeries;
  readonly #clock: Clock;
  readonly #observed: Observed;
  readonly #tell: GenerationListener['tell'];
  #writtenMs: number | null = null;
  #textDoneMs: number | null = null;
  /** Methods that are to come of tokens, by index: the others have been counted. */
  readonly #pending = new Map<number, readonly Method[]>();
  #firstMs: number | null = null;
  /** Times at which tokens without scores yet went out, by index; only for responses that are not held back. */
  readonly #sentMs = new Map<number, number>();
  /** The index of the next to go out. */
  #sent = 0;
  /** The flagged step whose `step.done` is still to come: it has been counted. */
  #judged: number | null = null;
  #over = false;

  /** @param tell called with news that is not a measure of a token */
  constructor(
    series: ModelSeries,
    observed: Observed,
    clock: Clock,
    tell: GenerationListener['tell'] = () => {},
  ) {
    this.#series = series;
    this.#observed = observed;
    this.#clock = clock;
    this.#tell = tell;
  }

  /** `null` where its scores and steps are not counted. */
  get #guard(): ModelSeries['guard'] | null {
    return this.#observed.further ? null : this.#series.guard;
  }

  /** Whether a token has come. */
  get hasStarted(): boolean {
    return this.#firstMs !== null;
  }

  /** Observes an event before steps are held back. */
  written(event: GuardEvent): void {
    const guard = this.#guard;
    const { action } = this.#observed;
    switch (event.type) {
      case 'token.delta':
        this.#writtenMs ??= this.#clock.now();
        break;
      case 'score.delta':
        guard?.token(event, this.#pending.get(event.index));
        if (event.pending) this.#pending.set(event.index, event.pending);
        else this.#pending.delete(event.index);
        break;
      case 'token.retracted':
        for (const index of this.#pending.keys()) if (index >= event.from) this.#pending.delete(index);
        break;
      case 'step.flagged':
        this.#tell({ type: 'flagged', step: event, action: event.action });
        guard?.flagged(action, event.action);
        this.#judge(event);
        this.#judged = event.step;
        break;
      case 'step.done':
        if (this.#judged !== event.step) {
          this.#judge(event);
          // A step that replaced a flagged one may be flagged itself; then nothing more is done about it.
          if (event.flagged) {
            this.#tell({ type: 'flagged', step: event, action: 'annotate' });
            guard?.flagged(action, 'annotate');
          }
        }
        this.#judged = null;
        break;
      case 'rollback.done':
        this.#tell({ type: 'rollback', event });
        guard?.rolledBack(event.outcome);
        // Another step stands there now, which has a verdict of its own.
        if (event.outcome === 'replaced') this.#judged = null;
    }
  }

  /** Observes an event that goes to the client. */
  event(event: GuardEvent): void {
    // The first scores of a token are those that judge.
    const isFurther = event.type === 'score.delta' && this.#pending.has(event.index);
    if (!this.#observed.held) this.written(event);
    const guard = this.#guard;
    switch (event.type) {
      case 'token.delta':
        this.#token(event.index);
        break;
      case 'upstream.delta':
        this.#first();
        break;
      case 'score.delta':
        if (isFurther) break;
        if (event.reason !== 'lag') this.#lag(event.index);
        else this.#sentMs.delete(event.index);
        break;
      case 'step.done':
        if (event.held) guard?.held(event.held.ms / 1000);
        break;
      case 'token.retracted':
        guard?.retracted(event.tokens);
        for (const index of this.#sentMs.keys()) if (index >= event.from) this.#sentMs.delete(index);
        this.#sent = Math.min(this.#sent, event.from);
        break;
      case 'text.done':
        this.#textDoneMs = this.#clock.now();
        break;
      case 'generation.done':
        this.#done(event);
    }
  }

  failed(code: ErrorCode): void {
    if (this.#over) return;
    this.#over = true;
    this.#tell({ type: 'failed', code });
    const seconds = this.#secondsAt(this.#clock.now());
    this.#series.generations.failed(code, seconds, this.#exemplar(seconds));
  }

  cancelled(): void {
    if (this.#over) return;
    this.#over = true;
    this.#tell({ type: 'cancelled' });
    this.#series.generations.cancelled();
  }

  #done(done: DoneEvent): void {
    this.#over = true;
    this.#tell({ type: 'done', event: done });
    const ms = this.#clock.now();
    const { generations } = this.#series;
    if (done.verdict) this.#guard?.verdict(done.verdict, this.#observed);
    const total = this.#secondsAt(ms);
    generations.done(done, total, this.#exemplar(total));
    const tokens = done.usage.completionTokens ?? 0;
    if (this.#writtenMs !== null && tokens > 1) {
      const seconds = ((this.#textDoneMs ?? ms) - this.#writtenMs) / 1000 / (tokens - 1);
      generations.perToken(seconds, this.#exemplar(seconds));
    }
  }

  #token(index: number): void {
    const { held, scored } = this.#observed;
    const timed = scored && !held;
    if (!timed && this.hasStarted) return;
    const ms = this.#clock.now();
    if (timed) {
      this.#sentMs.set(index, ms);
      this.#sent = index + 1;
    }
    this.#first(ms);
  }

  /** Observes the first output: a token, or something else, such as a part of a tool call. */
  #first(ms = this.#clock.now()): void {
    if (this.#firstMs !== null) return;
    this.#firstMs = ms;
    const seconds = this.#secondsAt(ms);
    this.#tell({ type: 'first', seconds });
    this.#series.generations.firstToken(seconds, this.#exemplar(seconds));
  }

  #lag(index: number): void {
    if (this.#observed.held) return;
    const sent = this.#sentMs.get(index);
    // Scores may come first, where a token waits for those before it.
    if (sent === undefined) this.#guard?.lag(0, 0);
    else this.#guard?.lag(this.#sent - 1 - index, (this.#clock.now() - sent) / 1000);
    this.#sentMs.delete(index);
  }

  #judge(step: Rating): void {
    const exemplar = step.risk === null ? undefined : this.#exemplar(step.risk);
    this.#guard?.judged(this.#observed.action, step, exemplar);
  }

  #secondsAt(ms: number): number {
    return (ms - this.#observed.beganMs) / 1000;
  }

  #exemplar(value: number): Exemplar {
    return { responseId: this.#observed.responseId, value, time: this.#clock.date() / 1000 };
  }
}
