import { defer, map, type Subscription } from 'rxjs';
import type { GuardEvent } from '../../src/stream/events.js';
import { FlowGate } from '../../src/stream/flow-gate.js';
import type { Answer } from '../answers/served-model.js';
import { type ApiError, toApiError } from '../errors/api-error.js';
import type { EventHistory } from './event-history.js';
import { lostError } from './lost.js';
import { Outcome } from './outcome.js';

/**
 * Encodes the events of one generation: as frames, each with its offset. The first frame of a result has the
 * given offset, the others follow.
 */
export interface Encoding {
  /** Frames that are sent as soon as it starts. */
  opening(): readonly string[];
  event(event: GuardEvent, offset: number): readonly string[];
  cancelled(offset: number): readonly string[];
  failed(error: ApiError, offset: number): readonly string[];
}

/** Encoding over HTTP that says nothing but its events: a client cancels by going away, and an error has a status. */
export const SILENT: Pick<Encoding, 'opening' | 'cancelled' | 'failed'> = {
  opening: () => [],
  cancelled: () => [],
  failed: () => [],
};

/** Destination of the frames of a generation, one after the other: a connection's side of it. */
export interface Sink {
  send(frame: string): void;
  /** Everything was sent. */
  ended(): void;
  /** The generation failed before it had a frame. */
  refused(error: unknown): void;
  /**
   * The generation is read no more here, though it may go on: another connection has it now, or no reader is
   * left.
   */
  lost(error: ApiError): void;
}

/** A gateway that reads a generation of ours from what is published of it. */
export interface Reader extends Pick<Sink, 'lost'> {
  /** How long it is waited for once it says nothing. */
  readonly patienceMs: number;
}

/** A generation as connections read it, whichever process has it. */
export type ReadGeneration = Pick<
  LiveGeneration,
  'id' | 'model' | 'over' | 'pause' | 'resume' | 'detach' | 'cancel' | 'discard'
>;

export interface LiveOptions {
  readonly id: string;
  /** Name of the principal that may resume it. */
  readonly owner: string;
  /** The client's name for it. */
  readonly requestId: string | undefined;
  readonly answer: Answer;
  readonly encoding: Encoding;
  /** History of a generation that can be resumed. */
  readonly history: EventHistory | null;
  /** How long it waits to be resumed, after the loss of its connection and after all of it was sent. */
  readonly retentionMs: number;
  /**
   * The generation writes no more. Receives the error, unless the sink was told, and whether it came to its
   * end. Called once.
   */
  readonly onOver: (error: unknown, complete: boolean) => void;
  /** The generation cannot be resumed any more. Called once, after its end. */
  readonly onForgotten: () => void;
  /** Change of the memory of its history, in bytes. */
  readonly onHistory: (bytes: number) => void;
}

/**
 * A generation apart from the connection that reads it. Its frames go to the sink that is attached, if one is. One with
 * a history outlives its sink for a while, and goes on for another from any frame that is still there.
 */
export class LiveGeneration {
  readonly id: string;
  readonly owner: string;
  readonly requestId: string | undefined;
  readonly model: string;
  /** For the log. */
  readonly outcome: Outcome;
  readonly #options: LiveOptions;
  readonly #gate = new FlowGate();
  #subscription: Subscription | null = null;
  #sink: Sink | null = null;
  /** Another gateway that reads what is published of it. */
  #reader: Reader | null = null;
  /** Offset of the next frame. */
  #offset = 0;
  /** The sink wants no more for now. */
  #paused = false;
  #release: (() => void) | null = null;
  #over = false;
  #forgotten = false;
  #retention: NodeJS.Timeout | undefined;

  constructor(options: LiveOptions) {
    this.id = options.id;
    this.owner = options.owner;
    this.requestId = options.requestId;
    this.model = options.answer.model;
    this.outcome = new Outcome(options.answer.guard.policy);
    this.#options = options;
  }

  /** Whether it outlives its connection. */
  get resumable(): boolean {
    return this.#options.history !== null;
  }

  /** Whether it writes no more; there may be frames left to send. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether a connection reads it, or what is left of it. */
  get attached(): boolean {
    return this.#sink !== null || this.#reader !== null;
  }

  /** Whether all is over but the remembering. */
  get finished(): boolean {
    return this.#over && !this.attached;
  }

  /** @param paused whether the sink wants nothing until {@link resume} */
  start(sink: Sink, paused = false): void {
    this.#sink = sink;
    if (paused) this.pause(sink);
    const { encoding, answer } = this.#options;
    this.#emit(encoding.opening());
    // `start` is called in the pipeline, so that everything that is thrown is an error of this generation
    // alone.
    const frames = defer(() => answer.start(this.#gate)).pipe(
      map((event) => {
        this.outcome.add(event);
        return encoding.event(event, this.#offset);
      }),
    );
    this.#subscription = frames.subscribe({
      next: (each) => this.#emit(each),
      error: (error: unknown) => this.fail(error),
      complete: () => this.#end(undefined, true),
    });
    if (this.#over) this.#subscription.unsubscribe();
  }

  /**
   * Goes on with another sink, from an offset, once {@link resume} is called.
   * @returns false if not all from there on can be sent; then it is over, because the client cannot use a part
   */
  attach(sink: Sink, offset: number): boolean {
    if (!this.#rewind(offset)) return false;
    this.#takeFrom();
    this.#sink = sink;
    clearTimeout(this.#retention);
    this.pause(sink);
    return true;
  }

  /**
   * Another gateway has sent what is before an offset, from what is published. It says so again and again; in between
   * the generation is as one without a sink: it writes no further than it may without one.
   * @returns as {@link attach}
   */
  sentElsewhere(reader: Reader, offset: number): boolean {
    if (!this.#rewind(offset)) return false;
    if (this.#reader !== reader) this.#takeFrom();
    this.#reader = reader;
    this.#retain();
    this.#balance();
    return true;
  }

  /** The other gateway reads it no more. */
  leftElsewhere(reader: Reader): void {
    if (this.#reader !== reader) return;
    this.#reader = null;
    this.#retain();
  }

  /** The sink is gone. Without a history that is the end. */
  detach(sink: Sink): void {
    if (this.#sink !== sink) return;
    this.#sink = null;
    this.#paused = false;
    // If nothing was sent, the client does not know its id.
    if (this.#options.history && this.#offset > 0) {
      this.#retain();
      this.#balance();
    } else {
      this.discard();
    }
  }

  /** Sends no more for now; the generation waits. What is on its way without a history is sent all the same. */
  pause(sink: Sink): void {
    if (this.#sink !== sink) return; // another connection has it, with a pace of its own
    this.#paused = true;
    this.#balance();
  }

  resume(sink: Sink): void {
    if (this.#sink !== sink) return;
    this.#paused = false;
    this.#pump();
  }

  /** Ends it, as the client asked. */
  cancel(): void {
    if (this.#over) return;
    this.#emit(this.#options.encoding.cancelled(this.#offset));
    this.#end();
  }

  /** Ends it with an error, which is in band from the first frame on. */
  fail(error: unknown): void {
    if (this.#over) return;
    if (this.#offset === 0) {
      const sink = this.#sink;
      this.#sink = null;
      this.#end();
      sink?.refused(error);
    } else {
      this.#emit(this.#options.encoding.failed(toApiError(error), this.#offset));
      this.#end(error);
    }
  }

  /** Ends it without a word, and forgets it. */
  discard(): void {
    if (this.#forgotten) return;
    this.#forgotten = true;
    clearTimeout(this.#retention);
    this.#takeFrom();
    this.#stop();
    this.#options.onHistory(-this.historyBytes);
    this.#options.onForgotten();
  }

  /** Bytes that can be sent again, or wait. */
  get historyBytes(): number {
    return this.#options.history?.bytes ?? 0;
  }

  /** Makes room: forgets half of what can be sent again. */
  halve(): void {
    this.#record((history) => history.halve());
  }

  #rewind(offset: number): boolean {
    if (this.#forgotten) return false;
    if (this.#options.history?.rewind(offset)) return true;
    this.discard();
    return false;
  }

  #emit(frames: readonly string[]): void {
    this.#offset += frames.length;
    if (!this.#options.history) {
      for (const frame of frames) this.#sink?.send(frame);
      return;
    }
    for (const frame of frames) this.#record((history) => history.push(frame));
    this.#pump();
  }

  /** Sends what the sink takes. */
  #pump(): void {
    const { history } = this.#options;
    while (history && this.#sink && !this.#paused) {
      const frame = history.take();
      if (frame === undefined) break;
      this.#sink.send(frame);
    }
    this.#balance();
    if (this.#over && (!history || history.allSent)) {
      const sink = this.#sink;
      this.#sink = null;
      sink?.ended();
      if (history) this.#retain();
    }
  }

  /** Disconnects its readers. */
  #takeFrom(): void {
    const readers = [this.#sink, this.#reader];
    this.#sink = null;
    this.#reader = null;
    this.#paused = false;
    for (const reader of readers) reader?.lost(lostError('taken_over'));
  }

  #record(change: (history: EventHistory) => void): void {
    const { history, onHistory } = this.#options;
    if (!history || this.#forgotten) return;
    const before = history.bytes;
    change(history);
    onHistory(history.bytes - before);
  }

  #end(error?: unknown, complete = false): void {
    this.#stop(error, complete);
    this.#pump();
    if (!this.#options.history) this.discard();
    else if (!this.#sink) this.#retain();
  }

  #stop(error?: unknown, complete = false): void {
    if (this.#over) return;
    this.#over = true;
    this.#subscription?.unsubscribe();
    this.#release?.();
    this.#options.onOver(error, complete);
  }

  /** Holds the gate while frames are not taken. */
  #balance(): void {
    const waits = this.#paused || (this.#sink === null && this.#options.history?.crowded === true);
    if (waits && !this.#over) {
      this.#release ??= this.#gate.hold();
    } else {
      this.#release?.();
      this.#release = null;
    }
  }

  /** Waits for a sink. While one still takes what is left, there is nothing to resume. */
  #retain(): void {
    if (this.#forgotten) return;
    clearTimeout(this.#retention);
    const ms = this.#reader?.patienceMs ?? this.#options.retentionMs;
    this.#retention = setTimeout(() => this.discard(), ms).unref();
  }
}
