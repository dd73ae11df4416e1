import type { ReadGeneration, Sink } from '../generations/live-generation.js';
import { type LostCode, lostError } from '../generations/lost.js';
import type { Entry } from './stream-feed.js';

/** Acknowledged so often, in parts of a history: who writes waits once half of it is not. */
const ACKNOWLEDGED = 1 / 8;

export interface LogReaderOptions {
  readonly id: string;
  readonly model: string;
  readonly offset: number;
  /** Offset of the next frame that was written when it was looked for: less, if its gateway sent before it wrote. */
  readonly written: number;
  readonly historyLimits: { readonly events: number; readonly bytes: number };
  /** Reads entries from an offset on, until told to stop. */
  readonly follow: (offset: number, received: (entries: readonly Entry[]) => void) => void;
  readonly stop: () => void;
  /** All before the offset was sent. */
  readonly acknowledge: (offset: number) => void;
  readonly act: (action: 'detach' | 'discard' | 'cancel') => void;
  /** It is read no more. Called once. */
  readonly over: () => void;
}

/** A generation of another gateway as a connection of this one reads it, from its frames in Redis. */
export class LogReader implements ReadGeneration {
  readonly id: string;
  readonly model: string;
  sink: Sink | null = null;
  readonly #options: LogReaderOptions;
  /** Offset of the next frame to be sent, and of the next entry to be read, which may come before. */
  #next: number;
  #position: number;
  /** Since they were last acknowledged. */
  #sent = { events: 0, bytes: 0 };
  #reading = false;
  #over = false;
  /** Why it is read no more, where nobody was there to be told. */
  #early: LostCode | null = null;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.id = options.id;
    this.model = options.model;
    this.#next = options.offset;
    this.#position = Math.min(options.offset, options.written);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Offset of the next frame to be sent. */
  get next(): number {
    return this.#next;
  }

  pause(): void {
    this.#reading = false;
    this.#options.stop();
  }

  resume(): void {
    if (this.#early) this.lost(this.#early);
    if (this.#over || this.#reading) return;
    this.#reading = true;
    this.#options.follow(this.#position, (entries) => this.#received(entries));
  }

  detach(): void {
    this.#leave('detach');
  }

  discard(): void {
    this.#leave('discard');
  }

  cancel(): void {
    if (!this.#over) this.#options.act('cancel');
  }

  /** It cannot go on here. */
  lost(code: LostCode): void {
    if (this.#over) return;
    if (!this.sink) {
      this.#early = code;
      return;
    }
    this.#end();
    this.sink.lost(lostError(code));
  }

  #received(entries: readonly Entry[]): void {
    for (const entry of entries) {
      // A client that reads slowly may have had enough within what was read at once: the rest is read again.
      if (!this.#reading) return;
      this.#take(entry);
    }
  }

  #take({ id, message: { f: frame, e: end } }: Entry): void {
    const offset = Number.parseInt(id, 10) - 1;
    if (offset !== this.#position) {
      this.#options.act('discard');
      this.lost('not_recovered');
    } else if (frame === undefined) {
      this.#ended(end);
    } else {
      this.#position += 1;
      if (offset < this.#next) return;
      this.#next += 1;
      this.sink?.send(frame);
      this.#count(Buffer.byteLength(frame));
    }
  }

  #ended(how: string | undefined): void {
    if (how === 'done') {
      this.#leave('detach');
      this.sink?.ended();
    } else {
      this.lost('owner_lost');
    }
  }

  #count(bytes: number): void {
    const { historyLimits, acknowledge } = this.#options;
    this.#sent = { events: this.#sent.events + 1, bytes: this.#sent.bytes + bytes };
    const { events, bytes: size } = this.#sent;
    if (events < ACKNOWLEDGED * historyLimits.events && size < ACKNOWLEDGED * historyLimits.bytes) return;
    this.#sent = { events: 0, bytes: 0 };
    acknowledge(this.#next);
  }

  #leave(action: 'detach' | 'discard'): void {
    if (this.#over) return;
    this.#options.act(action);
    this.#end();
  }

  #end(): void {
    this.#over = true;
    this.#reading = false;
    this.#options.stop();
    this.#options.over();
  }
}
