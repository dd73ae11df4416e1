/**
 * Backpressure for Observables, which have none: stages that cannot keep up hold the gate, and the source
 * waits until it is released.
 *
 * @example
 * const release = gate.hold();
 * socket.once('drain', release);
 */
export class FlowGate {
  readonly #outer: FlowGate | null;
  #holds = 0;
  #waiting: (() => void)[] = [];

  /** @param outer another gate that must be open too */
  constructor(outer: FlowGate | null = null) {
    this.#outer = outer;
  }

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

  get open(): boolean {
    return this.#holds === 0 && (this.#outer?.open ?? true);
  }

  /** Resolves once the gate is open. */
  async opened(): Promise<void> {
    while (!this.open) {
      if (this.#holds > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else await this.#outer?.opened();
    }
  }
}
