/** Calls for a sign of life when nothing was sent for the period, or a little less. */
export class Heartbeat {
  #sent = true;
  readonly #timer: NodeJS.Timeout;

  constructor(periodMs: number, beat: () => void) {
    // Writing down the time of each of many messages costs more than looking twice in a period.
    this.#timer = setInterval(() => {
      const quiet = !this.#sent;
      this.#sent = quiet;
      if (quiet) beat();
    }, periodMs / 2).unref();
  }

  /** Call this for everything else that is sent. */
  sent(): void {
    this.#sent = true;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
