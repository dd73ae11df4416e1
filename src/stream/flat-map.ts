import { Observable, type OperatorFunction } from 'rxjs';

/**
 * Each value becomes those of a list, as `flatMap` of arrays. What rxjs's `concatMap` does with lists, without an
 * Observable of each: several operators do it with each of thousands of tokens.
 *
 * Errors with what `project` throws.
 */
export function flatMap<A, B>(project: (value: A) => readonly B[]): OperatorFunction<A, B> {
  return (source) =>
    new Observable((subscriber) => {
      return source.subscribe({
        next: (value) => {
          // A source that gives all at once hears too late that nobody listens.
          if (subscriber.closed) return;
          let list: readonly B[];
          try {
            list = project(value);
          } catch (error) {
            subscriber.error(error);
            return;
          }
          for (const each of list) subscriber.next(each);
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
}
