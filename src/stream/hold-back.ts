import type { OperatorFunction } from 'rxjs';
import type {
  DoneEvent,
  GuardEvent,
  RetractedEvent,
  StepEvent,
  TextDoneEvent,
  TokenEvent,
} from './events.js';
import { staged } from './stage.js';

export interface HoldOptions {
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
}

/**
 * Holds a guarded generation back step by step: all events of a step are released at its `step.done`, which reports
 * how long the step was held. Retracted tokens and `token.retracted` are never passed on; `step.flagged` and
 * `rollback.done` still describe what was replaced.
 *
 * Where the guard ends the generation (`content_filter`), what is held is dropped. Its `step.flagged` is passed on
 * without text, and usage counts the released tokens. A step that the guard stops at is held even if `step.done`
 * comes. An error drops what is held, and so does completion without `generation.done`.
 *
 * Errors with a RangeError if tokens or steps come with a gap, or if a released one is retracted.
 *
 * @example
 * guarded.pipe(holdBack({ now: () => performance.now() }));
 */
export function holdBack(options: HoldOptions): OperatorFunction<GuardEvent, GuardEvent> {
  return staged((emit) => {
    const held = new Held(options);
    return {
      next: (event) => {
        for (const released of held.take(event)) emit(released);
      },
    };
  });
}

class Held {
  readonly #now: () => number;
  #events: GuardEvent[] = [];
  /** Tokens released; the next to be released has this index. */
  #released = 0;
  /** Index that the next token to come must have. */
  #next = 0;
  /** Tokens that came, also those that were retracted since. */
  #received = 0;
  /** When each held token came: at which time, and as which of those received. */
  readonly #arrivals = new Map<number, { readonly ms: number; readonly received: number }>();
  /** The guard stops here: no step is released any more. */
  #stopped = false;

  constructor({ now }: HoldOptions) {
    this.#now = now;
  }

  /** @returns what may be shown now */
  take(event: GuardEvent): GuardEvent[] {
    switch (event.type) {
      case 'token.retracted':
        this.#retract(event);
        return [];
      case 'step.done':
        return this.#release(event);
      case 'text.done':
      case 'generation.done':
        return this.#end(event);
      case 'token.delta':
        this.#arrive(event);
        break;
      case 'upstream.delta':
        // Events after a step that is not settled wait for it.
        if (event.at <= this.#released && !this.#stopped) return [event];
        break;
      case 'step.flagged':
        this.#stopped ||= event.action === 'stop';
        break;
      case 'score.delta':
        if (event.index < this.#released) return [event];
    }
    this.#events.push(event);
    return [];
  }

  #arrive({ index }: TokenEvent): void {
    if (index !== this.#next) throw new RangeError(`holdBack: token ${index} comes instead of ${this.#next}`);
    this.#next += 1;
    this.#received += 1;
    // Drawn anew, the first token of a step counts from when it first came: so long has the reader waited.
    if (!this.#arrivals.has(index)) this.#arrivals.set(index, { ms: this.#now(), received: this.#received });
  }

  #retract({ from }: RetractedEvent): void {
    if (from < this.#released) throw new RangeError(`holdBack: released token ${from} is retracted`);
    this.#next = Math.min(this.#next, from);
    this.#events = this.#events.filter((event) => !('index' in event && event.index >= from));
    for (const index of this.#arrivals.keys()) if (index > from) this.#arrivals.delete(index);
  }

  #release(step: StepEvent): GuardEvent[] {
    if (this.#stopped) return [];
    const { from, to } = step;
    if (from !== this.#released || to > this.#next) {
      throw new RangeError(`holdBack: step ${step.step} does not hold the next of the tokens that came`);
    }
    const released: GuardEvent[] = [];
    const rest: GuardEvent[] = [];
    for (const event of this.#events) (belongsTo(step, event) ? released : rest).push(event);
    this.#events = rest;
    const first = this.#arrivals.get(from);
    const held = first && { tokens: this.#received - first.received, ms: this.#now() - first.ms };
    for (let index = this.#released; index < to; index++) this.#arrivals.delete(index);
    this.#released = to;
    released.push({ ...step, ...(held && { held }) });
    return released;
  }

  #end(done: DoneEvent | TextDoneEvent): GuardEvent[] {
    const events = this.#events.splice(0);
    if (done.finishReason !== 'content_filter' && !this.#stopped) return [...events, done];
    const flagged = events.flatMap((event) =>
      event.type === 'step.flagged' ? [{ ...event, text: '' }] : [],
    );
    return [...flagged, { ...done, usage: { ...done.usage, completionTokens: this.#released } }];
  }
}

/** Whether the event is about the step, or one before it. */
function belongsTo({ step, to }: StepEvent, event: GuardEvent): boolean {
  if ('index' in event) return event.index < to;
  if (event.type === 'upstream.delta') return event.at <= to;
  return !('step' in event) || event.step <= step;
}
