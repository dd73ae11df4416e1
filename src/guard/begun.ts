import type { FlaggedEvent, GuardEvent, ScoreEvent, TokenEvent } from '../stream/events.js';
import type { Place } from './continuation.js';
import type { Guard } from './guard.js';

/** A response that another process has begun, as far as it has told of it. */
export interface Begun {
  /** What was told, in order. */
  readonly events: readonly GuardEvent[];
  /** Tokens that stay: the next one that is drawn comes after them. */
  readonly tokens: readonly TokenEvent[];
  /** Tokens that were told and not retracted: those beyond `tokens` are to be retracted. */
  readonly told: number;
  /** The latest score of each token, by its index, where one was told. */
  readonly scores: ReadonlyMap<number, ScoreEvent>;
  /** The first step that is judged anew. Its tokens are scored again; what was told of them is not told again. */
  readonly place: Place;
  /** What was told of that step, if it was flagged: what is done about it is to be done again. */
  readonly verdict: FlaggedEvent | null;
  /** Rollbacks and reflections that are over. */
  readonly interventions: number;
  /** The first token that was drawn by the seed in use, and after how many interventions; `null` for the request's seed. */
  readonly drawn: { readonly from: number; readonly interventions: number | null };
  /** Tokens that are known to have been written, also those of candidates and of what was retracted. */
  readonly written: number;
}

/** Whether nothing but text was written: what else there was, a continuation would not have read. */
export const isAnswerText = ({ events }: Begun): boolean =>
  !events.some((event) => (event.type === 'upstream.delta' ? event.unscored.length > 0 : 'part' in event));

/** Whether all tokens can be read again by the model, without their texts. */
export const hasIds = ({ tokens }: Begun): boolean => tokens.every(({ id }) => id !== null);

/**
 * What a response can go on from, by all events that were told of it from its first on.
 *
 * Everything up to the last `step.done` stays as it was told. An intervention that was announced is made again. A
 * reflection after which the model has written nothing is inserted again.
 *
 * @param guard `null` where none cuts the response into steps
 * @returns `null` where it cannot go on: it has ended, or what an intervention changed was told in part, or tokens are
 *   missing
 */
export function begunOf(
  events: readonly GuardEvent[],
  guard: Pick<Guard, 'delivery' | 'reflection'> | null,
): Begun | null {
  const fold = new Fold();
  for (const event of events) if (!fold.take(event)) return null;
  return fold.begun(events, guard);
}

type Reflected = Pick<Begun, 'place' | 'interventions' | 'drawn'> & {
  readonly verdict: FlaggedEvent;
  readonly to: number;
};

class Fold {
  readonly #tokens: TokenEvent[] = [];
  readonly #scores = new Map<number, ScoreEvent>();
  #place: Place = { step: 0, from: 0 };
  /** Of the step at this place. */
  #flagged: FlaggedEvent | null = null;
  /** Something of an intervention was told, and not yet the last word on its step. */
  #changing = false;
  #replaced = false;
  /** How it was before a reflection of which no drawn token follows yet. */
  #reflected: Reflected | null = null;
  #interventions = 0;
  #drawn: Begun['drawn'] = { from: 0, interventions: null };
  #written = 0;

  /** @returns false for an event after which nothing can go on */
  take(event: GuardEvent): boolean {
    switch (event.type) {
      case 'generation.done':
        return false;
      case 'token.delta':
        return this.#token(event);
      case 'score.delta':
        this.#scores.set(event.index, event);
        break;
      case 'token.retracted':
        this.#changing ||= event.from < (this.#flagged?.to ?? 0);
        this.#tokens.length = Math.min(this.#tokens.length, event.from);
        for (const index of this.#scores.keys()) if (index >= event.from) this.#scores.delete(index);
        break;
      case 'step.flagged':
        this.#flagged = event;
        break;
      case 'rollback.done': {
        this.#changing = true;
        this.#interventions += 1;
        this.#replaced = event.outcome === 'replaced';
        const others = event.candidates.filter((_, i) => i !== 0 && (i !== event.chosen || !this.#replaced));
        this.#written += others.reduce((sum, { tokens }) => sum + tokens, 0);
        break;
      }
      case 'step.done':
        this.#settle(event.step, event.to);
    }
    return true;
  }

  begun(events: readonly GuardEvent[], guard: Pick<Guard, 'delivery' | 'reflection'> | null): Begun | null {
    if (this.#changing) return null;
    const told = this.#tokens.length;
    const all = { events, told, scores: this.#scores, tokens: this.#tokens, written: this.#written };
    if (!guard) return { ...all, ...this.#state, place: { step: 0, from: told }, verdict: null };
    // A step that is held back comes with its verdict.
    if (guard.delivery === 'held' && (this.#flagged || told > this.#place.from)) return null;
    if (this.#reflected) {
      const { to, ...before } = this.#reflected;
      return { ...all, ...before, tokens: this.#tokens.slice(0, to), written: this.#written - (told - to) };
    }
    const verdict = this.#flagged;
    if (verdict && (verdict.step !== this.#place.step || verdict.to > told)) return null;
    if (!this.#insertedAllOf(guard.reflection)) return null;
    return { ...all, ...this.#state, place: this.#place, verdict };
  }

  get #state(): Pick<Begun, 'interventions' | 'drawn'> {
    return { interventions: this.#interventions, drawn: this.#drawn };
  }

  /** Whether what was inserted last, if nothing was drawn since, is all that was to be. */
  #insertedAllOf(text: string): boolean {
    const first = this.#tokens.findLastIndex(({ inserted }) => !inserted) + 1;
    const inserted = this.#tokens.slice(first).map((token) => token.text);
    return inserted.length === 0 || [text, `\n${text}`].includes(inserted.join(''));
  }

  #token(event: TokenEvent): boolean {
    if (event.index !== this.#tokens.length) return false;
    this.#tokens.push(event);
    this.#written += 1;
    if (event.inserted) this.#drawn = { from: event.index + 1, interventions: this.#interventions };
    else this.#reflected = null;
    return true;
  }

  #settle(step: number, to: number): void {
    const flagged = this.#flagged;
    if (flagged?.action === 'reflect') {
      this.#reflected = { ...this.#state, place: this.#place, verdict: flagged, to };
      this.#interventions += 1;
    } else {
      this.#reflected = null;
    }
    // What follows the chosen candidate was drawn by a seed of its own.
    if (this.#replaced) this.#drawn = { from: to, interventions: this.#interventions };
    this.#replaced = this.#changing = false;
    this.#flagged = null;
    this.#place = { step: step + 1, from: to };
  }
}
