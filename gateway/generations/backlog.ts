export interface BacklogOptions {
  readonly limitBytes: number;
  readonly stallMs: number;
  /** Bytes that wait for the client. */
  readonly waiting: () => number;
  readonly pause: () => void;
  readonly resume: () => void;
  /** The client takes nothing. */
  readonly stalled: () => void;
}

/**
 * Data that waits for a slow client: over the limit its generations pause, until half of it is taken. If for
 * a time nothing of it is, the client has stalled.
 */
export class Backlog {
  readonly #options: BacklogOptions;
  #full = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  get full(): boolean {
    return this.#full;
  }

  /** Call this after each write. */
  grown(): void {
    const { waiting, limitBytes, pause } = this.#options;
    if (this.#full || waiting() <= limitBytes) return;
    this.#full = true;
    this.#watch();
    pause();
  }

  /** Call this when some data may have been taken. */
  shrunk(): void {
    const { waiting, limitBytes, resume } = this.#options;
    if (!this.#full || 2 * waiting() > limitBytes) return;
    this.close();
    resume();
  }

  close(): void {
    this.#full = false;
    clearTimeout(this.#timer);
  }

  #watch(): void {
    const { waiting, stallMs, stalled } = this.#options;
    const before = waiting();
    const check = (): void => (waiting() < before ? this.#watch() : stalled());
    this.#timer = setTimeout(check, stallMs).unref();
  }
}
