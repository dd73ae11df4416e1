import { Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { Branch } from './branch.js';
import type { GuardEvent } from './events.js';
import { FlowGate } from './flow-gate.js';
import { type InterveneOptions, Intervening } from './intervening.js';

export type { InterveneOptions } from './intervening.js';

/**
 * Follows a branch of text and acts on its flagged steps as a policy says: leave it, stop, draw candidates for the step
 * and go on with one of them, or have it checked.
 *
 * Tokens are emitted at once; `token.retracted` voids those that were replaced. A step's `step.done` is the last word on
 * it: nothing up to its end is retracted any more. After a rollback each score is that of the text as it stands, scored
 * with the same block boundaries.
 *
 * Errors with what a branch fails with, unless a continuation that fails is done without. Unsubscribing closes all branches.
 *
 * @example
 * from(engineBranch(engine, request, options)).pipe(intervene({ policy, seed: 1 })).subscribe(console.log);
 */
export function intervene({
  gate = new FlowGate(),
  dispensable = () => false,
  ...options
}: InterveneOptions): OperatorFunction<Branch, GuardEvent> {
  return switchMap(
    (root) =>
      new Observable<GuardEvent>((subscriber) => {
        const intervening = new Intervening({ ...options, gate, dispensable }, (event) =>
          subscriber.next(event),
        );
        intervening.follow(root).then(
          () => subscriber.complete(),
          (error: unknown) => subscriber.error(error),
        );
        return () => intervening.close();
      }),
  );
}
