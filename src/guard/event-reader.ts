import type { Observable, Subscription } from 'rxjs';
import type { FlowGate } from '../stream/flow-gate.js';

/** Events that may wait before the source has to. */
const MAX_WAITING = 64;

/** Reads an Observable event by event; while there is no read, the gate is held. */
export class EventReader<T> {
  readonly #waiting: T[] = [];
  readonly #subscription: Subscription;
  #release: (() => void) | null = null;
  #end: 'open' | 'complete' | { readonly error: unknown } = 'open';
  #wake: (() => void) | null = null;

  constructor(source: Observable<T>, gate: FlowGate) {
    this.#subscription = source.subscribe({
      next: (event) => {
        this.#waiting.push(event);
        if (this.#waiting.length >= MAX_WAITING) this.#release ??= gate.hold();
        this.#wakeUp();
      },
      error: (error: unknown) => this.#close({ error }),
      complete: () => this.#close('complete'),
    });
  }

  /** The next of the events that are there; `undefined` for none. */
  take(): T | undefined {
    const event = this.#waiting.shift();
    if (this.#release && this.#waiting.length < MAX_WAITING / 2) this.#open();
    return event;
  }

  /**
   * The next event, `null` after the last one.
   * @throws errors of the source
   */
  async next(): Promise<T | null> {
    while (this.#waiting.length === 0 && this.#end === 'open') {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const event = this.take();
    if (event !== undefined) return event;
    if (typeof this.#end === 'object') throw this.#end.error;
    return null;
  }

  /** Drops events that were not read; a reader that waits gets `null`. */
  close(): void {
    this.#subscription.unsubscribe();
    this.#waiting.length = 0;
    this.#open();
    this.#close('complete');
  }

  #open(): void {
    this.#release?.();
    this.#release = null;
  }

  #close(end: 'complete' | { readonly error: unknown }): void {
    if (this.#end === 'open') this.#end = end;
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
