import { readEvent } from '../../client/src/read-event.js';
import type { ScoreEvent, StepEvent, TokenEvent } from '../../src/stream/events.js';
import type { Settled } from '../models/go-on.js';

type ServerEvent = ReturnType<typeof readEvent>;
type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { readonly type: Type }>;

/** Events of a generation that were sent. */
export interface Told {
  readonly created: EventOf<'generation.created'>;
  readonly settled: Settled;
}

/**
 * State of a generation, from all its frames.
 * @returns `null` if it cannot go on: it has ended, or has something else than text, or an action of the
 * guard on a step was sent in part
 * @throws ProtocolError for a frame that is not of the protocol
 */
export function toldOf(id: string, frames: readonly string[]): Told | null {
  const [created, ...others] = frames.map((frame) => readEvent(frame));
  if (created?.type !== 'generation.created' || !isAt(created, id, 0)) return null;
  const fold = new Fold();
  for (const [i, event] of others.entries()) if (!isAt(event, id, i + 1) || !fold.take(event)) return null;
  const settled = fold.settled(created.guard);
  return settled && { created, settled };
}

const isAt = (event: ServerEvent, id: string, at: number): boolean =>
  'offset' in event && event.offset === at && 'response_id' in event && event.response_id === id;

class Fold {
  readonly #tokens: TokenEvent[] = [];
  readonly #scores = new Map<number, ScoreEvent>();
  readonly #steps: StepEvent[] = [];
  #flagged = 0;
  #interventions = 0;
  #written = 0;
  /** How many steps must be settled, for what was done about the last one that was flagged to be over. */
  #needed = 0;

  /** @returns false for an event after which nothing can go on */
  take(event: ServerEvent): boolean {
    switch (event.type) {
      case 'token.delta':
        if (event.part || event.index !== this.#tokens.length) return false;
        this.#tokens.push(tokenEvent(event));
        this.#written += 1;
        return true;
      case 'score.delta':
        this.#scores.set(event.index, scoreEvent(event));
        return true;
      case 'token.retracted':
        this.#tokens.length = Math.min(this.#tokens.length, event.from);
        for (const index of this.#scores.keys()) if (index >= event.from) this.#scores.delete(index);
        return true;
      case 'spike.detected':
        // What was done about it is not known to be over until its step is settled.
        if (event.action) this.#needed = this.#steps.length + 1;
        return true;
      case 'step.flagged':
        // The text of a reflection belongs to the next step.
        this.#needed = event.step + (event.action === 'reflect' ? 2 : 1);
        if (event.action === 'reflect') this.#interventions += 1;
        return true;
      case 'rollback.done':
        this.#interventions += 1;
        return true;
      case 'step.done':
        if (event.flagged) this.#flagged += 1;
        this.#steps.push(stepEvent(event));
        return true;
      case 'upstream.delta':
        return event.unscored.length === 0;
      default:
        return ['rollback.started', 'scorer.mismatch'].includes(event.type);
    }
  }

  settled({ enabled, delivery }: Told['created']['guard']): Settled | null {
    const told = this.#tokens.length;
    const length = enabled ? (this.#steps.at(-1)?.to ?? 0) : told;
    // A step that is held back comes with its verdict, and cannot be taken back.
    if (this.#steps.length < this.#needed || (delivery === 'held' && told > length)) return null;
    const ends = new Map(this.#steps.map((step) => [step.to, step]));
    const events = this.#tokens.slice(0, length).flatMap((token) => {
      const score = this.#scores.get(token.index);
      const step = ends.get(token.index + 1);
      return [token, ...(score ? [score] : []), ...(step ? [step] : [])];
    });
    return {
      tokens: this.#tokens.slice(0, length),
      events,
      told,
      written: this.#written,
      steps: this.#steps.length,
      flagged: this.#flagged,
      interventions: this.#interventions,
    };
  }
}

// Fields have the same names on the wire, but for those that have several words.

function stepEvent({
  response_id: _,
  offset: __,
  held: ___,
  part: ____,
  ...event
}: EventOf<'step.done'>): StepEvent {
  const { unscored, ...step } = event;
  return { ...step, flagged: false, ...(unscored && { unscored }) };
}

function scoreEvent(event: EventOf<'score.delta'>): ScoreEvent {
  const { type, index, pass, scores, risk, skipped = [], reason, missing, rival = null } = event;
  const why = { ...(reason && { reason }), ...(missing && { missing }) };
  return { type, index, pass, scores, skipped, ...why, rival, ...(risk && { risk }) };
}

function tokenEvent({ type, index, id, text, logprob, inserted }: EventOf<'token.delta'>): TokenEvent {
  return { type, index, id, text, logprob, topLogprobs: [], ...(inserted && { inserted }) };
}
