import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  forkJoin,
  from,
  map,
  type Observable,
  of,
  tap,
  toArray,
} from 'rxjs';
import { answersNeeded, elected, type Said } from '../../src/guard/vote.js';
import type { DoneEvent, GuardEvent, Usage } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { paced } from '../../src/stream/paced.js';
import { toApiError } from '../errors/api-error.js';
import type { Answer } from './served-model.js';
import { callsTool, eventsOf, type FlaggedAnswer, textOf } from './whole-answer.js';

interface VoteOptions {
  /** Most answers, the flagged one included. */
  readonly answers: number;
  /** A further answer to the same request; called with 1, 2, 3 … */
  readonly answer: (number: number) => Promise<Answer>;
  /** What an answer says. */
  readonly said: (text: string) => Said;
  /** Called with whether another answer than the flagged one is returned, and the error of one that was not written. */
  readonly voted: (replaced: boolean, error: unknown) => void;
}

interface Candidate {
  readonly events: readonly GuardEvent[];
  readonly said: Said;
  readonly done: DoneEvent | null;
}

/** Ends of an answer that is not whole. It has no vote. */
const WITHOUT_VOTE = ['length', 'content_filter'];

/**
 * The answer that most answers agree with, in place of a flagged one (self-consistency, arXiv 2203.11171). As many further
 * answers are drawn at once as may settle it, until no further one can change the winner. If one fails, those that are there decide. An answer that calls a tool stays.
 */
export function voted(
  { done, verdict, text, calls, withheld, kept }: FlaggedAnswer,
  { answers: total, answer, said, voted }: VoteOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  const stays = from(withheld).pipe(paced(gate));
  if (calls) return stays;
  const saidBy = (whole: string | null, end: DoneEvent | null): Said =>
    whole === null || end === null || WITHOUT_VOTE.includes(end.finishReason) ? null : said(whole);
  const answers: Candidate[] = [{ events: withheld, said: saidBy(text, done), done }];
  let failure: { readonly error: unknown } | null = null;

  const drawn = (number: number): Observable<Candidate | null> =>
    defer(() => answer(number)).pipe(
      concatMap((next) => eventsOf(next, gate)),
      tap((event) => kept.add(event)),
      toArray(),
      map((events) => {
        const last = events.at(-1);
        const end = last?.type === 'generation.done' ? last : null;
        const text = events.some(callsTool) ? null : events.map(textOf).join('');
        return { events, said: saidBy(text, end), done: end };
      }),
      catchError((error: unknown) => {
        failure ??= { error };
        return of(null);
      }),
    );
  const further = (): Observable<never> =>
    defer(() => {
      const contents = answers.map((answer) => answer.said);
      const needed = failure ? 0 : answersNeeded(contents, total);
      if (needed === 0) return EMPTY;
      return forkJoin(Array.from({ length: needed }, (_, i) => drawn(answers.length + i))).pipe(
        concatMap((round) => {
          answers.push(...round.filter((answer) => answer !== null));
          return further();
        }),
      );
    });
  const winner = defer(() => {
    const { index, votes: agreed } = elected(answers.map((answer) => answer.said));
    const replaced = index > 0;
    voted(replaced, failure?.error ?? null);
    const failed = failure ? toApiError(failure.error).body.code : null;
    const vote = { answers: answers.length, agreed, replaced, failed, verdict };
    const usages = answers.flatMap((answer) => answer.done?.usage ?? []);
    const events = answers[index]!.events.map((event) => withGenerated(event, usages));
    return concat(of<GuardEvent>({ type: 'generation.voted', ...vote }), from(events).pipe(paced(gate)));
  });
  return concat(further(), winner);
}

/** All answers were written for the one that is returned. */
function withGenerated(event: GuardEvent, usages: readonly Usage[]): GuardEvent {
  if (event.type !== 'generation.done') return event;
  const generatedTokens = usages.reduce(
    (sum, usage) => sum + (usage.generatedTokens ?? usage.completionTokens ?? 0),
    0,
  );
  return { ...event, usage: { ...event.usage, generatedTokens } };
}
