import {
  finalize,
  identity,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  pipe,
  switchMap,
  takeWhile,
} from 'rxjs';
import { checkPromise, neverFires } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import { guardedBranch, type Judging, whileOpen } from '../../src/guard/guarded-branch.js';
import { MIN_ANSWERS, RunningRisk } from '../../src/risk/running-risk.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { judgeAnswer } from '../../src/stream/judge-answer.js';
import { guardSchema } from '../requests/guard-limits.js';
import type { Asked } from './asked.js';
import type { GuardInForce, Guarding, Prepared, Source } from './served-model.js';

/** The guard of a request. */
export interface RequestGuard {
  readonly settings: GuardInForce;
  /** `null` where the guard is not enabled. */
  readonly guarding: Guarding | null;
}

/**
 * The guard in force for a request.
 * @throws ApiError 400; SettingsError for settings that do not fit together, or not to the model
 */
export async function guardInForce(
  asked: Asked,
  { judge, lag: usual }: Pick<Source, 'judge' | 'lag'>,
): Promise<RequestGuard> {
  const { settings: fields, scoring } = await judge.settle(guardSchema.parse(asked.fields.guard));
  if (!fields.enabled) return { settings: fields, guarding: null };
  const guard = guardOf(fields, asked.canRetract, usual);
  checkGuard(guard, scoring);
  const { risks, warnings } = await judge.rate(scoring, asked);
  checkPromise(guard, risks);
  const useless = neverFires(guard, risks);
  if (useless !== null) judge.warn?.(useless);
  const { method, delivery, lag } = guard;
  const calibrated = risks.calibrated(method);
  const estimate = { answers: risks.seenAnswers?.(method) ?? 0, needed: MIN_ANSWERS };
  const known = { ...fields, delivery, lag, calibrated, ...(!calibrated && { estimate }) };
  const settings = withWarnings(known, useless === null ? warnings : [...warnings, useless]);
  return { settings, guarding: { scoring, guard, risks } };
}

/** The settings, with more for people to know. */
export const withWarnings = (guard: GuardInForce, more: readonly string[]): GuardInForce =>
  more.length === 0 ? guard : { ...guard, warnings: [...(guard.warnings ?? []), ...more] };

/** Abort reason of an answer that is over; made once, because each error records a stack trace. */
const OVER = new Error('the generation is over');

/** Of answers without scores: it is not asked. */
const NO_RISKS = new RunningRisk();

const UNJUDGED: Judging = { forks: 0, rate: identity, judge: () => identity };

/** Ends an answer that is replaced with its text. */
const endIf = (isReplaced: NonNullable<Asked['isReplaced']>): MonoTypeOperatorFunction<GuardEvent> =>
  pipe(
    map(
      (event: GuardEvent): GuardEvent =>
        event.type === 'text.done' && event.verdict && isReplaced(event.verdict)
          ? { ...event, type: 'generation.done' }
          : event,
    ),
    takeWhile((event) => event.type !== 'generation.done', true),
  );

export interface GuardedOptions {
  readonly asked: Asked;
  readonly source: Pick<Source, 'scoresAll'>;
  readonly prepared: Prepared;
  /** Called with each event of a guard as it is written, before steps are held back. */
  readonly written: (event: GuardEvent) => void;
}

/** The events of a text under its guard. This is the only place that joins guard, risks, seed and source. */
export function guarded(
  { settings, guarding }: RequestGuard,
  { asked, source, prepared, written }: GuardedOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  const { seed, told = identity, dispensable } = prepared;
  const abort = new AbortController();
  const open = (judging: Judging) => prepared.open(judging, abort.signal);
  const { guard } = guarding ?? {};
  const refusesUnscored = asked.refusesUnscored && !(source.scoresAll && guard?.lag === 'wait');
  const events = guarding
    ? guardedBranch(
        open,
        { ...guarding, seed, written, refusesUnscored, ...(dispensable && { dispensable }) },
        gate,
      )
    : whileOpen(
        () => open(UNJUDGED),
        switchMap((branch) => branch.events(gate)),
      ).pipe(
        // A guard that can compute nothing still has a verdict: unknown.
        asked.fields.guard.enabled === false ? identity : judgeAnswer({ ...settings, risks: NO_RISKS }),
      );
  return events.pipe(
    asked.isReplaced ? endIf(asked.isReplaced) : identity,
    told,
    finalize(() => abort.abort(OVER)),
  );
}
