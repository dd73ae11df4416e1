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
import { callsTool, eventsOf, type OwnAnswer, textOf } from './whole-answer.js';

interface VoteOptions {
  /** Model that writes the answers. */
  readonly of: string;
  /** Most answers, the first one included. */
  readonly answers: number;
  /** A further answer to the same request; called with 1, 2, 3 … */
  readonly answer: (number: number) => Promise<Answer>;
  /** What an answer says. */
  readonly said: (text: string) => Said;
  /** Called with whether another answer than the first one is returned, and the error of one that was not written. */
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
 * The answer that most answers agree with, in place of the first one (self-consistency, arXiv 2203.11171). As many further
 * answers are drawn at once as may settle it, until no further one can change the winner. If one fails, those that are there decide. An
 * answer that calls a tool stays, and so does one that says nothing that can be compared.
 */
export function voted(
  { done, verdict, text, calls, withheld, kept }: OwnAnswer,
  { of: name, answers: most, answer, said, voted }: VoteOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  const stays = from(withheld).pipe(paced(gate));
  if (calls) return stays;
  const saidBy = (whole: string | null, end: DoneEvent | null): Said =>
    whole === null || end === null || WITHOUT_VOTE.includes(end.finishReason) ? null : said(whole);
  const isWhole = !WITHOUT_VOTE.includes(done.finishReason);
  const answers: Candidate[] = [{ events: withheld, said: saidBy(text, done), done }];
  // Further answers to the same question cannot be compared either.
  const isCompared = !isWhole || answers[0]!.said !== null;
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
      const needed = failure || !isCompared ? 0 : answersNeeded(contents, most);
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
    const vote = { answers: answers.length, agreed, replaced, failed, risk: verdict.risk };
    const usage = sumOf(answers.flatMap((answer) => answer.done?.usage ?? []));
    const events = answers[index]!.events.map(
      (event): GuardEvent =>
        event.type === 'generation.done' ? { ...event, usageByModel: { [name]: usage } } : event,
    );
    return concat(of<GuardEvent>({ type: 'generation.voted', ...vote }), from(events).pipe(paced(gate)));
  });
  return concat(further(), winner);
}

/** Usage of all answers together. */
const sumOf = (usages: readonly Usage[]): Usage => ({
  promptTokens: total(usages.map(({ promptTokens }) => promptTokens)),
  completionTokens: total(usages.map(({ completionTokens }) => completionTokens)),
});

/** `null` if one of them is not known. */
const total = (counts: readonly (number | null)[]): number | null =>
  counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
