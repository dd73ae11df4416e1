import { map, type Observable } from 'rxjs';
import type { DoneEvent, GuardEvent, TopToken, Verdict } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { topText, type Vocabulary } from '../../src/stream/wire.js';
import type { KeptAnswer } from './kept-answers.js';
import type { Answer } from './served-model.js';

/** An answer in whose place another one may come. */
export interface OwnAnswer {
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

/** What an event adds to the text of an answer. */
export const textOf = (event: GuardEvent): string =>
  event.type === 'token.delta' && !event.part ? event.text : '';

/** Whether an event is of a call of a tool, whatever the reason is for which its answer ends. */
export function callsTool(event: GuardEvent): boolean {
  if (event.type === 'upstream.delta') return event.unscored.includes('tool_calls');
  if (event.type === 'generation.done') return event.finishReason === 'tool_calls';
  return event.type === 'token.delta' && event.part === 'tool_calls';
}

/** The events of an answer with the texts of its vocabulary. */
export const eventsOf = (
  { start, vocabulary }: Pick<Answer, 'start' | 'vocabulary'>,
  gate: FlowGate,
): Observable<GuardEvent> => start(gate).pipe(map((event) => withTexts(event, vocabulary)));

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
