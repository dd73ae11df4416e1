import { defer, finalize, from, type Observable, switchMap } from 'rxjs';
import { FairSlots, type Release } from '../access/fair-places.js';
import { ApiError } from '../errors/api-error.js';

/** The places for generations of a model, which its clients share; other processes may use them, too. */
export interface Slots {
  readonly most: number;
  /** @returns a function that gives the place back; `null` if there is none */
  take(client: string): Release | null | Promise<Release | null>;
}

/** Places of this process alone. */
export function ownSlots(most: number): Slots {
  const slots = new FairSlots(most);
  return { most, take: (client) => slots.take(client) };
}

/** @throws ApiError 503 `overloaded` for none */
export function checkSlot(place: Release | null, { most }: Slots): Release {
  if (place) return place;
  throw new ApiError('overloaded', `at most ${most} concurrent generations of this model`);
}

/** Starts once it has a place, and gives it back at its end. */
export function inSlot<T>(slots: Slots, client: string, start: () => Observable<T>): Observable<T> {
  return defer(() => {
    const place = Promise.resolve(slots.take(client));
    return from(place).pipe(
      switchMap((taken) => {
        checkSlot(taken, slots);
        return start();
      }),
      finalize(() => {
        place.then((release) => release?.());
      }),
    );
  });
}
