import { defer, finalize, from, type Observable, switchMap } from 'rxjs';
import { FairSlots, type Release } from '../access/fair-slots.js';
import { ApiError } from '../errors/api-error.js';

/** The slots for generations of a model, which its clients share; other processes may use them, too. */
export interface Slots {
  readonly most: number;
  /** Generations of this process that have one or wait for one. */
  taken: number;
  /** @returns a function that gives the slot back; `null` if there is none */
  take(client: string): Release | null | Promise<Release | null>;
}

/** Slots of this process alone. */
export function ownSlots(most: number): Slots {
  const slots = new FairSlots(most);
  return { most, taken: 0, take: (client) => slots.take(client) };
}

/**
 * Starts once it has a slot, and gives it back at its end.
 *
 * Errors with an ApiError 503 `overloaded` if there is none.
 */
export function inSlot<T>(
  slots: Slots | undefined,
  client: string,
  start: () => Observable<T>,
): Observable<T> {
  if (!slots) return defer(start);
  return defer(() => {
    slots.taken += 1;
    const slot = Promise.resolve(slots.take(client));
    return from(slot).pipe(
      switchMap((taken) => {
        if (taken) return start();
        throw new ApiError('overloaded', `at most ${slots.most} concurrent generations of this model`);
      }),
      finalize(() => {
        slots.taken -= 1;
        slot.then((release) => release?.());
      }),
    );
  });
}
