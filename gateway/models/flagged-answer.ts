import { concat, defer, filter, from, map, Observable } from 'rxjs';
import type { GuardAction } from '../../src/guard/guard.js';
import type { DoneEvent, GuardEvent, TopToken, Verdict } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { paced } from '../../src/stream/paced.js';
import { topText, type Vocabulary } from '../../src/stream/wire.js';
import type { ApiError } from '../errors/api-error.js';
import type { KeptAnswer } from './kept-answers.js';
import type { Prepared } from './served-model.js';

/** An answer with a flagged verdict. */
export interface FlaggedAnswer {
  readonly done: DoneEvent;
  readonly verdict: Verdict;
  /** Its text, without other parts such as reasoning. */
  readonly text: string;
  /** Whether it calls a tool. */
  readonly calls: boolean;
  /** What was not told of it: all of it, or the end alone. */
  readonly withheld: readonly GuardEvent[];
  /** Counts what else is kept. */
  readonly kept: KeptAnswer;
}

export interface FlaggedOptions {
  readonly action: GuardAction;
  /** Whether nothing is told before it is settled which answer it will be. */
  readonly held: boolean;
  /** Counts what is not told. */
  readonly keep: (end: (error: ApiError) => void) => KeptAnswer;
  /** The rest of what is told, where the answer is flagged. */
  readonly rest: (flagged: FlaggedAnswer, gate: FlowGate) => Observable<GuardEvent>;
}

/** The answer of a model, up to its end, and the rest of it. An unknown verdict is left alone. */
export function unlessFlagged(own: Prepared, { action, held, keep, rest }: FlaggedOptions): Prepared {
  const { scoredAtOnce: _, ...prepared } = own;
  return {
    ...prepared,
    vocabulary: null, // tokens of several answers, or models: each comes with its texts
    guard: { ...own.guard, action, delivery: held ? 'held' : 'immediate' },
    start: (gate) =>
      new Observable((subscriber) => {
        const kept = keep((error) => subscriber.error(error));
        subscriber.add(() => kept.close());
        const withheld: GuardEvent[] = [];
        let text = '';
        let calls = false;
        const events = eventsOf(own, gate).pipe(
          filter((event) => {
            text += textOf(event);
            calls ||= callsTool(event);
            if (!held && event.type !== 'generation.done') return true;
            withheld.push(event);
            kept.add(event);
            return false;
          }),
        );
        const others = defer(() => {
          const done = withheld.at(-1);
          if (done?.type !== 'generation.done' || done.verdict?.flagged !== true)
            return from(withheld).pipe(paced(gate));
          return rest({ done, verdict: done.verdict, text, calls, withheld, kept }, gate);
        });
        subscriber.add(concat(events, others).subscribe(subscriber));
      }),
  };
}

/** What an event adds to the text of an answer. */
export const textOf = (event: GuardEvent): string =>
  event.type === 'token.delta' && !event.part ? event.text : '';

/** Whether an event is of a call of a tool, whatever the reason is for which its answer ends. */
export function callsTool(event: GuardEvent): boolean {
  if (event.type === 'upstream.delta') return event.unscored.includes('tool_calls');
  if (event.type === 'generation.done') return event.finishReason === 'tool_calls';
  return event.type === 'token.delta' && event.part === 'tool_calls';
}

/** The events of a model with the texts of its vocabulary. */
export const eventsOf = ({ start, vocabulary }: Prepared, gate: FlowGate): Observable<GuardEvent> =>
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
