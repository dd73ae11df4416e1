/** Questions that may go unanswered. */
const PINGS = 4;

export interface StallWatchOptions {
  /** Time without a message, or up to a quarter longer, after which a process counts as stalled. */
  readonly limitMs: number;
  /** Asks the process for a message. */
  readonly ping: () => void;
  readonly stalled: () => void;
}

/**
 * Watches that a process goes on. Its runs block its event loop, so it answers between them.
 *
 * Questions are counted, not time: if it was this process that stood, answers wait that it has not read yet.
 */
export class StallWatch {
  readonly #timer: NodeJS.Timeout;
  #unanswered = 0;

  constructor({ limitMs, ping, stalled }: StallWatchOptions) {
    this.#timer = setInterval(() => {
      if (this.#unanswered === PINGS) {
        this.stop();
        stalled();
        return;
      }
      this.#unanswered += 1;
      ping();
    }, limitMs / PINGS).unref();
  }

  /** The process has said something. */
  heard(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
