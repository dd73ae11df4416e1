import { defer, finalize, from, type Observable, switchMap } from 'rxjs';
import { FairSlots, type Release } from '../access/fair-slots.js';
import { ApiError } from '../errors/api-error.js';

/** The slots for generations of a model, which its clients share; other processes may use them, too. */
export interface Slots {
  readonly most: number;
  /** @returns a function that gives the slot back; `null` if there is none */
  take(client: string): Release | null | Promise<Release | null>;
}

/** Slots of this process alone. */
export function ownSlots(most: number): Slots {
  const slots = new FairSlots(most);
  return { most, take: (client) => slots.take(client) };
}

/** @throws ApiError 503 `overloaded` for none */
function checkSlot(slot: Release | null, { most }: Slots): Release {
  if (slot) return slot;
  throw new ApiError('overloaded', `at most ${most} concurrent generations of this model`);
}

/** Starts once it has a slot, and gives it back at its end. */
export function inSlot<T>(slots: Slots, client: string, start: () => Observable<T>): Observable<T> {
  return defer(() => {
    const slot = Promise.resolve(slots.take(client));
    return from(slot).pipe(
      switchMap((taken) => {
        checkSlot(taken, slots);
        return start();
      }),
      finalize(() => {
        slot.then((release) => release?.());
      }),
    );
  });
}
