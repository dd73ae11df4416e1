/** Reference count of a shared resource, such as an admission: it ends when the last holder has let go. */
export class Share {
  readonly #onEnd: () => void;
  #holders = 0;

  get holders(): number {
    return this.#holders;
  }

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** @returns the release; calling it twice does no harm */
  hold(): () => void {
    this.#holders += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holders -= 1;
      if (this.#holders === 0) this.#onEnd();
    };
  }
}
