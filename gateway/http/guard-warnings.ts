import type { Unscored, UpstreamEvent } from '../../src/stream/events.js';
import type { SaidGuard } from './said-guard.js';

/** The guard in force. Of what turns out to have no scores, and why, its warnings tell. */
export class GuardWarnings {
  readonly #guard: SaidGuard;
  readonly #unscored = new Set<Unscored>();
  readonly #warnings = new Set<string>();

  constructor(guard: SaidGuard) {
    this.#guard = guard;
  }

  /** @returns whether that was not known */
  learn({ unscored, warnings = [] }: Pick<UpstreamEvent, 'unscored' | 'warnings'>): boolean {
    const size = (): number => this.#unscored.size + this.#warnings.size;
    const before = size();
    if (this.#guard.enabled) for (const kind of unscored) this.#unscored.add(kind);
    for (const warning of warnings) this.#warnings.add(warning);
    return size() > before;
  }

  get inForce(): SaidGuard {
    const kinds = [...this.#unscored].join(', ');
    const learnt = [...this.#warnings, ...(kinds === '' ? [] : [`unscored: ${kinds}`])];
    if (learnt.length === 0) return this.#guard;
    return { ...this.#guard, warnings: [...(this.#guard.warnings ?? []), ...learnt] };
  }
}
