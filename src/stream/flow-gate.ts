/**
 * Backpressure for Observables, which have none: stages that cannot keep up hold the gate, and the source waits
 * until nobody holds it.
 *
 * @example
 * const release = gate.hold();
 * socket.once('drain', release);
 */
export class FlowGate {
  #holds = 0;
  #waiting: (() => void)[] = [];

  /** @returns the release; calling it twice does no harm */
  hold(): () => void {
    this.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holds -= 1;
      if (this.#holds === 0) for (const resume of this.#waiting.splice(0)) resume();
    };
  }

  /** Resolves once nobody holds the gate. */
  async opened(): Promise<void> {
    while (this.#holds > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
