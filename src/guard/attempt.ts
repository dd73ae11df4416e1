import { sum } from 'simple-statistics';
import { EngineError } from '../engine/errors.js';
import type { DoneEvent, GuardEvent, ScoreEvent, StepEvent } from '../stream/events.js';
import type { FlowGate } from '../stream/flow-gate.js';
import type { Branch } from './branch.js';
import type { EventReader } from './event-reader.js';
import type { Candidate } from './policy.js';

/** A branch that is being read. */
export interface Followed {
  readonly branch: Branch;
  readonly gate: FlowGate;
  readonly reader: EventReader<GuardEvent>;
}

/** A branch's version of one step. */
export interface Attempt extends Candidate {
  readonly followed: Followed;
  /** Events of the step's tokens from the cut on that were not emitted. */
  readonly events: readonly GuardEvent[];
  /** `null` where the response ended without a further token. */
  readonly step: StepEvent | null;
  /** The same as its branch told it, where that was in several pieces. */
  readonly pieces?: readonly StepEvent[];
  /** End of the response, if it ended with the step. */
  readonly done: DoneEvent | null;
}

/** What comes next of a branch, and the scores of its tokens so far. */
interface Unread {
  readonly next: () => Promise<GuardEvent | null>;
  readonly scores: ReadonlyMap<number, ScoreEvent>;
}

/** A candidate for a step: a branch is read up to the step's end. */
export async function readCandidate(followed: Followed, from: number): Promise<Attempt> {
  const events: GuardEvent[] = [];
  let drawn: StepEvent | null = null;
  let further = false;
  // A step is known to be over when a later token is there, or the response has ended.
  for (;;) {
    const event = await followed.reader.next();
    if (event === null) throw new EngineError('closed', 'the response was cancelled');
    const done = event.type === 'generation.done' ? event : null;
    if (event.type !== 'step.done') events.push(event);
    // The part of the step that stays may by itself end one, now that something else follows it.
    else if (!drawn || drawn.to <= from) drawn = drawn ? joined(drawn, event) : event;
    const end = drawn && drawn.to > from ? drawn.to : null;
    further ||= end !== null && events.some((other) => other.type === 'token.delta' && other.index >= end);
    if (!done && !further) continue;
    const own = events.filter((other) => 'index' in other && other.index < (end ?? from));
    const summary = drawn ? summaryOf(drawn, from, scoresOf(own)) : { text: '', tokens: 0, score: null };
    return { ...summary, followed, events: own, step: drawn, done: further ? null : done };
  }
}

/**
 * The rest of the step that a branch is in, unseen. The step before may not be known to be over yet: the two are one
 * then, as they are for a candidate.
 */
export async function readRest(
  followed: Followed,
  from: number,
  { next, scores: known }: Unread,
): Promise<Attempt> {
  const events: GuardEvent[] = [];
  const pieces: StepEvent[] = [];
  for (;;) {
    const event = await next();
    if (event === null) throw new EngineError('closed', 'the response was cancelled');
    if (event.type !== 'step.done') {
      events.push(event);
      continue;
    }
    pieces.push(event);
    if (event.to <= from) continue;
    const step = pieces.reduce(joined);
    const scores = new Map([...known, ...scoresOf(events)]);
    return { ...summaryOf(step, from, scores), followed, events, step, pieces, done: null };
  }
}

/**
 * Summary of the tokens of a step from the cut on. Tokens that the schedule skipped count, as ones without
 * doubt; with one that cannot be scored the step is the last choice.
 */
export function summaryOf(
  { text, to, method }: StepEvent,
  from: number,
  scores: ReadonlyMap<number, ScoreEvent>,
): Candidate {
  const values: number[] = [];
  for (let index = from; index < to; index++) {
    const event = scores.get(index);
    if (event?.missing?.includes(method)) return { text, tokens: to - from, score: Number.POSITIVE_INFINITY };
    const value = event?.scores[method];
    if (value !== undefined) values.push(value);
  }
  const score = values.length > 0 ? sum(values) / (to - from) : null;
  return { text, tokens: to - from, score };
}

const scoresOf = (events: readonly GuardEvent[]): ReadonlyMap<number, ScoreEvent> =>
  new Map(events.flatMap((event) => (event.type === 'score.delta' ? [[event.index, event]] : [])));

/** Two steps as one, with the verdict of the worse. */
function joined(first: StepEvent, second: StepEvent): StepEvent {
  const worse = (second.risk ?? 0) >= (first.risk ?? 0) ? second : first;
  const flagged = first.flagged || second.flagged;
  return {
    ...worse,
    step: first.step,
    from: first.from,
    to: second.to,
    text: first.text + second.text,
    flagged,
  };
}
