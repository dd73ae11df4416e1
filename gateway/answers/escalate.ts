import {
  catchError,
  concat,
  concatAll,
  concatMap,
  defer,
  from,
  map,
  type Observable,
  of,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { paced } from '../../src/stream/paced.js';
import { toApiError } from '../errors/api-error.js';
import type { Answer } from './served-model.js';
import { eventsOf, type OwnAnswer } from './whole-answer.js';

interface EscalateOptions {
  /** The model whose answer is flagged, and the one that answers in its place. */
  readonly of: string;
  readonly to: string;
  /** Its answer to the same request; called once the flagged answer has ended. */
  readonly answer: () => Promise<Answer>;
  /** Whether the client gets the answer at its end alone, so that nothing of one that fails on the way was told. */
  readonly whole: boolean;
  /** Called with the error for which the other model does not answer, or with `null` if it does. */
  readonly escalated: (error: unknown) => void;
}

/**
 * The answer of another model in place of a flagged one. If it fails before the client was told any of its answer, the
 * flagged answer stays, with its verdict.
 */
export function escalated(
  { done: { usage }, verdict, withheld }: OwnAnswer,
  { of: name, to, answer: ask, whole, escalated }: EscalateOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  let isTold = false;
  let guard: object | undefined;
  const escalation = (error: unknown): Observable<GuardEvent> =>
    defer(() => {
      escalated(error);
      const failed = error === null ? null : toApiError(error).body.code;
      return of<GuardEvent>({
        type: 'generation.escalated',
        to,
        failed,
        risk: verdict.risk,
        ...(guard && failed === null && { guard }),
      });
    });
  const answer = defer(ask).pipe(
    concatMap((prepared) => {
      ({ guard } = prepared);
      return eventsOf(prepared, gate);
    }),
    map((event) =>
      event.type === 'text.done' || event.type === 'generation.done'
        ? { ...event, usageByModel: { [name]: usage, [to]: event.usage } }
        : event,
    ),
  );
  return (whole ? answer.pipe(toArray(), concatAll(), paced(gate)) : answer).pipe(
    concatMap((event, i) => (i === 0 ? concat(escalation(null), of(event)) : of(event))),
    tap(() => {
      isTold = true;
    }),
    catchError((error: unknown) =>
      isTold ? throwError(() => error) : concat(escalation(error), from(withheld).pipe(paced(gate))),
    ),
  );
}
