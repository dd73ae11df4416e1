import { type LostCode, lostError, RemoteGeneration, type RemoteOptions } from 'flinch/state';
import type { Entry } from './stream-feed.js';

/** Share of a history after which frames are acknowledged: the writer waits once half of it is not. */
const ACKNOWLEDGED = 1 / 8;

export interface LogReaderOptions extends RemoteOptions {
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
}

/** A generation of another gateway as a connection of this one reads it, from its frames in Redis. */
export class LogReader extends RemoteGeneration {
  readonly id: string;
  readonly model: string;
  readonly #options: LogReaderOptions;
  /** Offset of the next frame to be sent, and of the next entry to be read, which may come before. */
  #next: number;
  #position: number;
  /** Frames sent since the last acknowledgement. */
  #sent = { events: 0, bytes: 0 };
  #reading = false;
  /** Why it is read no more, if there was no sink to tell yet. */
  #early: LostCode | null = null;

  constructor(options: LogReaderOptions) {
    super({
      act: options.act,
      over: () => {
        this.#reading = false;
        options.stop();
        options.over();
      },
    });
    this.#options = options;
    this.id = options.id;
    this.model = options.model;
    this.#next = options.offset;
    this.#position = Math.min(options.offset, options.written);
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
    if (this.over || this.#reading) return;
    this.#reading = true;
    this.#options.follow(this.#position, (entries) => this.#received(entries));
  }

  /** The generation cannot go on here. */
  lost(code: LostCode): void {
    if (this.over) return;
    if (!this.sink) {
      this.#early = code;
      return;
    }
    this.end();
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
      this.leave('detach');
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
}
