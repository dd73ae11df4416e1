import type { MonoTypeOperatorFunction } from 'rxjs';
import type { GuardEvent } from '../stream/events.js';
import { staged } from '../stream/stage.js';
import type { Begun } from './begun.js';

/**
 * Leaves out what was told before the response went on: each event once. What is retracted may be told again.
 *
 * @example
 * from(goOn(begun, parts)).pipe(intervene({ policy, seed: 1, begun }), untold(begun));
 */
export function untold({ events }: Begun): MonoTypeOperatorFunction<GuardEvent> {
  return staged((emit) => {
    const told = new Told();
    for (const event of events) told.add(event);
    return {
      next: (event) => {
        if (!told.delete(event)) emit(event);
      },
    };
  });
}

class Told {
  readonly #keys = new Set<string>();
  /** Keys of a token, its score and its spike, by index. */
  readonly #ofTokens = new Map<number, Set<string>>();

  add(event: GuardEvent): void {
    this.#retract(event);
    const key = keyOf(event);
    if (key === null) return;
    if (!('index' in event)) {
      this.#keys.add(key);
      return;
    }
    const own = this.#ofTokens.get(event.index) ?? new Set();
    this.#ofTokens.set(event.index, own.add(key));
    // A spike stands beside its score: it does not come later.
    if (event.type === 'score.delta') own.add('spike.detected');
  }

  /** @returns whether it was there */
  delete(event: GuardEvent): boolean {
    this.#retract(event);
    const key = keyOf(event);
    if (key === null) return false;
    return ('index' in event ? this.#ofTokens.get(event.index) : this.#keys)?.delete(key) ?? false;
  }

  #retract(event: GuardEvent): void {
    if (event.type !== 'token.retracted') return;
    for (const index of this.#ofTokens.keys()) if (index >= event.from) this.#ofTokens.delete(index);
  }
}

/** `null` for what is not told twice. */
function keyOf(event: GuardEvent): string | null {
  switch (event.type) {
    case 'token.delta':
    case 'score.delta':
    case 'spike.detected':
      return event.type;
    case 'step.flagged':
    case 'step.done':
      return `${event.type} ${event.step}`;
    case 'rollback.started':
      return `${event.type} ${event.rollback}`;
    default:
      return null;
  }
}
