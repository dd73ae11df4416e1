import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect } from 'vitest';

export interface Marbles<I, O> {
  /** A millisecond each character. Events in parentheses come at once, and what follows as late as they are long. */
  readonly source: string;
  readonly expected: string;
  readonly inputs: Readonly<Record<string, I>>;
  readonly outputs: Readonly<Record<string, O>>;
  readonly error?: Error;
}

/** Runs an operator in virtual time. */
export function expectMarbles<I, O>(
  operator: (source: Observable<I>, now: () => number) => Observable<O>,
  { source, expected, inputs, outputs, error }: Marbles<I, O>,
): void {
  const scheduler = new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted));
  scheduler.run(({ cold, expectObservable }) => {
    const events = operator(cold(source, { ...inputs }), () => scheduler.now());
    expectObservable(events).toBe(expected, { ...outputs }, error);
  });
}
