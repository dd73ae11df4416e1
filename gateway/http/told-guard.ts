import type { Unscored } from '../../src/stream/events.js';
import type { SaidGuard } from '../models/served-model.js';

/** The guard in force. Of what turns out to have no scores its warnings tell. */
export class ToldGuard {
  readonly #guard: SaidGuard;
  readonly #unscored = new Set<Unscored>();

  constructor(guard: SaidGuard) {
    this.#guard = guard;
  }

  /** @returns whether that was not known */
  learn(unscored: readonly Unscored[]): boolean {
    const before = this.#unscored.size;
    for (const kind of unscored) this.#unscored.add(kind);
    return this.#guard.enabled && this.#unscored.size > before;
  }

  get inForce(): SaidGuard {
    if (!this.#guard.enabled || this.#unscored.size === 0) return this.#guard;
    const warning = `unscored: ${[...this.#unscored].join(', ')}`;
    return { ...this.#guard, warnings: [...(this.#guard.warnings ?? []), warning] };
  }
}
