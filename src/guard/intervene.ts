import { Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { GuardEvent } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import type { Branch } from './branch.js';
import { type InterveneOptions, Interventions } from './interventions.js';

export type { InterveneOptions } from './interventions.js';

/**
 * Follows a branch of text and acts on its flagged steps as a policy says: leave it, stop, or draw candidates for the step
 * and go on with one of them.
 *
 * Tokens are emitted at once; `token.retracted` voids those that were replaced. A step's `step.done` is final: nothing
 * up to its end is retracted any more. After a rollback each score is that of the text as it stands, scored with the
 * same block boundaries.
 *
 * Errors with the error of a branch, unless a continuation that fails can be left out. Unsubscribing closes all
 * branches.
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
        const interventions = new Interventions({ ...options, gate, dispensable }, (event) =>
          subscriber.next(event),
        );
        interventions.follow(root).then(
          () => subscriber.complete(),
          (error: unknown) => subscriber.error(error),
        );
        return () => interventions.close();
      }),
  );
}
