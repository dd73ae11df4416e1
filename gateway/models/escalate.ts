import {
  catchError,
  concat,
  concatAll,
  concatMap,
  defer,
  filter,
  from,
  map,
  Observable,
  of,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import type { DoneEvent, GuardEvent, TopToken, Verdict } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { paced } from '../../src/stream/paced.js';
import { topText, type Vocabulary } from '../../src/stream/wire.js';
import { type ApiError, toApiError } from '../errors/api-error.js';
import type { KeptAnswer } from './kept-answers.js';
import type { Prepared } from './served-model.js';

export interface EscalateOptions {
  /** Name of the model that answers in place of a flagged answer. */
  readonly to: string;
  /** Prepares the same request for it; called once the flagged answer has ended. */
  readonly prepare: () => Promise<Prepared>;
  /** Counts what is not told before it is settled which model answers; `null` where a client can drop what it was told. */
  readonly keep: ((end: (error: ApiError) => void) => KeptAnswer) | null;
  /** Whether the client gets the answer at its end alone, so that nothing of one that fails on the way was told. */
  readonly whole: boolean;
  /** Called with the error for which the other model does not answer, or with `null` if it does. */
  readonly escalated: (error: unknown) => void;
}

/**
 * The answer of a model, or where the verdict on it is flagged, that of another model. An unknown verdict is left alone. If
 * the other model fails before the client was told any of its answer, the flagged answer stays, with its verdict.
 */
export function escalating(own: Prepared, options: EscalateOptions): Prepared {
  const { keep } = options;
  const { goesOn: _, scoredAtOnce: __, ...prepared } = own;
  return {
    ...prepared,
    vocabulary: null, // tokens of two models: each comes with its texts
    guard: { ...own.guard, action: 'escalate', delivery: keep ? 'held' : 'immediate' },
    start: (gate) =>
      new Observable((subscriber) => {
        const kept = keep?.((error) => subscriber.error(error));
        subscriber.add(() => kept?.close());
        const withheld: GuardEvent[] = [];
        const told = toldBy(own, gate).pipe(
          filter((event) => {
            if (!keep && event.type !== 'generation.done') return true;
            withheld.push(event);
            kept?.add(event);
            return false;
          }),
        );
        const rest = defer(() => {
          const done = withheld.at(-1);
          if (done?.type !== 'generation.done' || done.verdict?.flagged !== true)
            return from(withheld).pipe(paced(gate));
          const flagged = { name: own.model, verdict: done.verdict, usage: done.usage, withheld };
          return answeredByOther(flagged, options, gate);
        });
        subscriber.add(concat(told, rest).subscribe(subscriber));
      }),
  };
}

interface FlaggedAnswer {
  /** The model that wrote it. */
  readonly name: string;
  readonly verdict: Verdict;
  readonly usage: DoneEvent['usage'];
  /** What was not told of it. */
  readonly withheld: readonly GuardEvent[];
}

function answeredByOther(
  { name, verdict, usage, withheld }: FlaggedAnswer,
  { to, prepare, whole, escalated }: EscalateOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  let isTold = false;
  let guard: object | null = null;
  const escalation = (error: unknown): Observable<GuardEvent> =>
    defer(() => {
      escalated(error);
      const failed = error === null ? null : toApiError(error).body.code;
      return of<GuardEvent>({ type: 'generation.escalated', to, failed, guard, verdict });
    });
  const answer = defer(prepare).pipe(
    concatMap((prepared) => {
      ({ guard } = prepared);
      return toldBy(prepared, gate);
    }),
    map((event) =>
      event.type === 'generation.done'
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

/** The events of a model with the texts of its vocabulary. */
const toldBy = ({ start, vocabulary }: Prepared, gate: FlowGate): Observable<GuardEvent> =>
  start(gate).pipe(map((event) => withTexts(event, vocabulary)));

function withTexts(event: GuardEvent, vocabulary: Vocabulary): GuardEvent {
  if (event.type === 'token.delta')
    return { ...event, topLogprobs: event.topLogprobs.map((token) => withText(token, vocabulary)) };
  if (event.type !== 'score.delta' || !event.rival) return event;
  return { ...event, rival: { ...event.rival, text: topText(event.rival, vocabulary) } };
}

function withText(token: TopToken, vocabulary: Vocabulary): TopToken {
  if (!vocabulary || token.id === null) return token;
  return { ...token, text: vocabulary.tokenText(token.id), bytes: [...vocabulary.tokenBytes(token.id)] };
}
