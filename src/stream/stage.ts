import { Observable, type OperatorFunction, pipe } from 'rxjs';

/** Handlers for the events of one subscription. */
export interface Stage<In> {
  next(event: In): void;
  /** Called after the last event. */
  end?(): void;
}

/** Makes the stage of one subscription, which passes on any number of events for each. */
type OpenStage<In, Out> = (emit: (event: Out) => void) => Stage<In>;

interface StagedOperator<In, Out> extends OperatorFunction<In, Out> {
  readonly open: OpenStage<In, Out>;
}

/**
 * An operator whose stage is called for each event. `concatMap` with a list does the same, and subscribes to
 * one more Observable for each event, which is most of its cost. If the stage throws, the stream ends with
 * the error.
 *
 * @example
 * const twice = staged<number, number>((emit) => ({ next: (n) => [n, n].forEach(emit) }));
 */
export function staged<In, Out>(open: OpenStage<In, Out>): StagedOperator<In, Out> {
  const operator: OperatorFunction<In, Out> = (source) =>
    new Observable((subscriber) => {
      const stage = open((event) => subscriber.next(event));
      return source.subscribe({
        next: (event) => {
          if (subscriber.closed) return;
          try {
            stage.next(event);
          } catch (error) {
            subscriber.error(error);
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          try {
            stage.end?.();
            subscriber.complete();
          } catch (error) {
            subscriber.error(error);
          }
        },
      });
    });
  return Object.assign(operator, { open });
}

/** One operator after another. Two with stages are one with a stage: nothing stands between them. */
export function fused<In, Between, Out>(
  first: OperatorFunction<In, Between>,
  second: OperatorFunction<Between, Out>,
): OperatorFunction<In, Out> {
  if (!isStaged(first) || !isStaged(second)) return pipe(first, second);
  return staged((emit) => {
    const last = second.open(emit);
    const before = first.open((event) => last.next(event));
    return {
      next: (event) => before.next(event),
      end: () => {
        before.end?.();
        last.end?.();
      },
    };
  });
}

const isStaged = <In, Out>(operator: OperatorFunction<In, Out>): operator is StagedOperator<In, Out> =>
  'open' in operator;
