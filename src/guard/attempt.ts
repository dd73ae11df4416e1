import { sum } from 'simple-statistics';
import { EngineError } from '../engine/engine-errors.js';
import type { DoneEvent, GuardEvent, ScoreEvent, StepEvent } from '../stream/events.js';
import type { Followed } from './followed-branches.js';
import type { Candidate } from './policy.js';

/** A branch's version of one step. */
export interface Attempt extends Candidate {
  readonly followed: Followed;
  /** Events of the step's tokens that were not emitted. */
  readonly events: readonly GuardEvent[];
  /** `null` where the response ended without a further token. */
  readonly step: StepEvent | null;
  /** End of the response, if it ended with the step. */
  readonly done: DoneEvent | null;
}

/** A candidate for a step: a branch is read up to the step's end. */
export async function readCandidate(followed: Followed): Promise<Attempt> {
  const events: GuardEvent[] = [];
  let step: StepEvent | null = null;
  // A step is known to be over when a later token is there, or the response has ended.
  for (;;) {
    const event = await followed.reader.next();
    if (event === null) throw new EngineError('closed', 'the response was cancelled');
    if (event.type === 'step.done') step = event;
    else events.push(event);
    const end = step?.to ?? Number.POSITIVE_INFINITY;
    const further = events.some((other) => other.type === 'token.delta' && other.index >= end);
    const done = event.type === 'generation.done' ? event : null;
    if (!done && !further) continue;
    const own = events.filter((other) => 'index' in other && other.index < end);
    const scores = new Map(
      own.flatMap((other) => (other.type === 'score.delta' ? [[other.index, other] as const] : [])),
    );
    const summary = step ? summaryOf(step, scores) : { text: '', tokens: 0, score: null };
    return { ...summary, followed, events: own, step, done: further ? null : done };
  }
}

/**
 * Summary of a step. Skipped tokens count, as ones without doubt; with one that cannot be scored the
 * step is the last choice.
 */
export function summaryOf(
  { text, from, to, method }: StepEvent,
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
