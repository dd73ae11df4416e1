/**
 * The types of rxjs in this package's declarations. rxjs is bundled into the code, but its types are 1 MB and cannot be
 * mixed with those of another rxjs: its classes have private fields. So the declarations use the application's own rxjs
 * if there is one, and the interfaces below if not.
 */
// biome-ignore lint/suspicious/noTsIgnore: `@ts-expect-error` fails here, where rxjs is installed
/** @ts-ignore: tsc keeps this line in the declarations. For an application without rxjs, both types are `any` there. */
import type { Observable as RxObservable, SchedulerLike as RxSchedulerLike } from 'rxjs';

/** Whether rxjs is installed. The tuples are needed: a conditional type over an unresolved type would be `any`. */
type WithRxjs = [0] extends [1 & RxSchedulerLike] ? false : true;

/** The `Observable` of the application's rxjs; without rxjs a {@link PlainObservable}. */
export type Observable<T> = WithRxjs extends true ? RxObservable<T> : PlainObservable<T>;

/** Time, for tests; needs rxjs. */
export type SchedulerLike = WithRxjs extends true ? RxSchedulerLike : never;

/** Methods of an Observable without rxjs. */
export interface PlainObservable<T> {
  subscribe(observer?: Partial<PlainObserver<T>>): PlainSubscription;
  subscribe(next: (value: T) => void): PlainSubscription;
  /** Resolves when the Observable completes, and rejects if it fails. */
  forEach(next: (value: T) => void): Promise<void>;
  pipe(): PlainObservable<T>;
  pipe<A>(first: (source: PlainObservable<T>) => A): A;
  pipe<A, B>(first: (source: PlainObservable<T>) => A, second: (a: A) => B): B;
}

export interface PlainObserver<T> {
  next(value: T): void;
  error(error: unknown): void;
  complete(): void;
}

export interface PlainSubscription {
  readonly closed: boolean;
  unsubscribe(): void;
}
