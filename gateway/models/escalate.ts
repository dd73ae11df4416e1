import {
  catchError,
  concat,
  concatAll,
  concatMap,
  defer,
  filter,
  from,
  map,
  type Observable,
  of,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import type { DoneEvent, GuardEvent, TopToken } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { topText, type Vocabulary } from '../../src/stream/wire.js';
import { toApiError } from '../errors/api-error.js';
import type { Prepared } from './served-model.js';

export interface EscalateOptions {
  /** Name of the model that answers in place of a flagged answer. */
  readonly to: string;
  /** Prepares the same request for it; called once the flagged answer has ended. */
  readonly prepare: () => Promise<Prepared>;
  /** Whether nothing is told before it is settled which model answers: the client cannot drop what it was told. */
  readonly held: boolean;
  /** Whether the client gets the answer at its end alone. */
  readonly kept: boolean;
  /** Called with the code of the error if the other model does not answer, otherwise with `null`. */
  readonly escalated: (failed: string | null) => void;
}

/**
 * The answer of a model, or where the verdict on it is flagged, that of another model. An unknown verdict is left alone. If
 * the other model fails before the client was told any of its answer, the flagged answer stays, with its verdict.
 */
export function escalating(own: Prepared, options: EscalateOptions): Prepared {
  const { held } = options;
  const { goesOn: _, scoredAtOnce: __, ...prepared } = own;
  return {
    ...prepared,
    vocabulary: null, // tokens of two models: each comes with its texts
    guard: { ...own.guard, action: 'escalate', delivery: held ? 'held' : 'immediate' },
    start: (gate) => {
      const withheld: GuardEvent[] = [];
      const told = toldBy(own, gate).pipe(
        filter((event) => {
          const waits = held || event.type === 'generation.done';
          if (waits) withheld.push(event);
          return !waits;
        }),
      );
      return concat(
        told,
        defer(() => {
          const done = withheld.at(-1);
          const isFlagged = done?.type === 'generation.done' && done.verdict?.flagged === true;
          return isFlagged ? answeredByOther(own, done, { ...options, withheld, gate }) : from(withheld);
        }),
      );
    },
  };
}

function answeredByOther(
  own: Prepared,
  { verdict, usage }: DoneEvent,
  {
    to,
    prepare,
    kept,
    escalated,
    withheld,
    gate,
  }: EscalateOptions & { readonly withheld: readonly GuardEvent[]; readonly gate: FlowGate },
): Observable<GuardEvent> {
  if (!verdict) return from(withheld);
  let told = false;
  const said = (failed: string | null): GuardEvent => {
    escalated(failed);
    return { type: 'generation.escalated', to, failed, verdict };
  };
  const other = defer(prepare).pipe(
    concatMap((prepared) => toldBy(prepared, gate)),
    map((event) =>
      event.type === 'generation.done'
        ? { ...event, usageByModel: { [own.model]: usage, [to]: event.usage } }
        : event,
    ),
  );
  return (kept ? other.pipe(toArray(), concatAll()) : other).pipe(
    concatMap((event, i) => (i === 0 ? of(said(null), event) : of(event))),
    tap(() => {
      told = true;
    }),
    catchError((error: unknown) =>
      told ? throwError(() => error) : concat(of(said(toApiError(error).body.code)), from(withheld)),
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
