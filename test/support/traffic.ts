import { expect } from 'vitest';
import { z } from 'zod';
import { chatBody, post, type SocketEvent, TestSocket } from './gateway.js';
import { LONG_QUESTION } from './requests.js';

const ofType = (type: string) => (event: SocketEvent) => event.type === type;

/** Whether nothing follows it: the generation's end, its failure, or its refusal. */
const isEnd = ({ type }: SocketEvent): boolean => type === 'generation.done' || type === 'error';

/** How a generation was asked for, and all that its client heard of it. */
export interface Heard {
  readonly model: string;
  /** Action of its guard, if there is one. */
  readonly action: string;
  readonly events: readonly SocketEvent[];
}

const answer = z.object({ error: z.object({ code: z.string() }).optional() });

const facts = z.looseObject({
  type: z.string(),
  method: z.string().optional(),
  missing: z.array(z.string()).optional(),
  skipped: z.array(z.string()).optional(),
  scores: z.record(z.string(), z.number()).optional(),
});

const ending = z.object({ usage: z.object({ completion_tokens: z.number() }) });
const lengthOf = (events: readonly SocketEvent[]): number =>
  ending.parse(events.at(-1)).usage.completion_tokens;

interface Asked {
  readonly model?: string;
  readonly content?: string;
  readonly guard?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const bodyOf = ({ content, model = 'reasoner', ...rest }: Asked) =>
  chatBody({ model, ...rest, ...(content !== undefined && { messages: [{ role: 'user', content }] }) });

const heard = (asked: Asked, events: readonly SocketEvent[]): Heard => {
  const action = asked.guard?.action;
  return {
    model: asked.model ?? 'reasoner',
    action: typeof action === 'string' ? action : 'annotate',
    events,
  };
};

/** Clients of a gateway, which remember what they heard. */
export class Traffic {
  readonly heard: Heard[] = [];
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** One generation over a WebSocket, to its end. */
  async ask(asked: Asked): Promise<Heard> {
    return this.#note(asked, await this.#hear(asked));
  }

  /** The same once more, held back: it is written as before, but its client sees less and nothing is retracted. */
  async askHeld(asked: Asked, { events }: Heard): Promise<void> {
    const held = await this.#hear({ ...asked, guard: { ...asked.guard, delivery: 'held' } });
    expect(held.filter(ofType('score.delta')).length).toBeLessThan(
      events.filter(ofType('score.delta')).length,
    );
    expect(lengthOf(held)).toBe(lengthOf(events));
    this.#note(
      asked,
      events.map((event) => ({
        ...event,
        ...(event.type === 'token.retracted' && { tokens: 0 }),
        response_id: held[0]?.response_id,
      })),
    );
  }

  /** Starts as many generations as there is room for, and two more, which are refused; then cancels them. */
  async crowd(room: number): Promise<void> {
    const asked = { content: LONG_QUESTION, guard: { enabled: false } };
    const begun: TestSocket[] = [];
    for (let i = 0; i < room; i++) {
      const socket = await this.#begin(asked);
      await socket.event(ofType('token.delta'));
      begun.push(socket);
    }
    await this.ask(asked);
    await this.post(asked);
    for (const socket of begun) {
      const { response_id } = await socket.event(ofType('generation.created'));
      socket.send({ type: 'generation.cancel', response_id });
      await socket.event(isEnd);
      socket.close(1000);
      this.#note(asked, socket.events);
    }
  }

  /** A generation that loses its connection and is resumed on another one; and one that cannot be resumed. */
  async loseConnection(): Promise<void> {
    const asked = { content: LONG_QUESTION, max_tokens: 60, resumable: true, guard: { enabled: false } };
    const lost = await this.#begin(asked);
    const { response_id, epoch } = await lost.event(ofType('generation.created'));
    await lost.event(({ offset }) => offset === 3);
    lost.close();
    const next = await TestSocket.open(this.#url);
    next.send({ type: 'generation.resume', response_id, epoch, offset: 0 });
    await next.event(isEnd);
    this.#note(asked, next.events);
    next.send({ type: 'generation.resume', response_id: 'resp-nothing', epoch, offset: 0 });
    await next.event(({ recovered }) => recovered === false);
    next.close(1000);
  }

  /** Calls `what` while a generation is being written and scored. */
  async interrupt(what: () => void): Promise<Heard> {
    // Both processes work for it.
    const guard = { action: 'annotate', methods: ['adversarial', 'nll'] };
    const asked = { content: LONG_QUESTION, guard };
    const socket = await this.#begin(asked);
    await socket.event(ofType('score.delta'));
    what();
    await socket.event(isEnd);
    socket.close(1000);
    return this.#note(asked, socket.events);
  }

  /**
   * Asks over HTTP, in one piece and without a guard.
   * @returns the error's code, `null` for an answer
   */
  async post(asked: Asked): Promise<string | null> {
    const response = await post(this.#url, bodyOf({ guard: { enabled: false }, ...asked }));
    const { error } = answer.parse(await response.json());
    const end = error
      ? { type: 'error', error: { ...error, param: null, message: '' } }
      : { type: 'generation.done', finish_reason: 'stop' };
    this.#note(asked, [end]);
    return error?.code ?? null;
  }

  /** Counts that the gateway must have by now, as selectors of Prometheus; all others are 0. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const add = (metric: string, labels: Readonly<Record<string, unknown>>, by = 1): void => {
      const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
      const key = `flinch_${metric}_total{${pairs.join(',')}}`;
      counts.set(key, (counts.get(key) ?? 0) + by);
    };
    for (const { model, action, events } of this.heard) {
      const replaced = new Set<unknown>();
      for (const event of events) {
        const { type, missing = [], skipped = [], scores = {} } = facts.parse(event);
        if (type === 'score.delta') {
          if (Object.keys(scores).length > 0) add('scored_tokens', { model });
          for (const each of missing) add('unscored_tokens', { model, method: each });
          for (const each of skipped) add('skipped_tokens', { model, method: each });
        }
        // The step that is stopped at, and one that is replaced, were judged, too, and are never done.
        if (type === 'step.done') add('steps', { model, action });
        // A replacement may be flagged itself: nothing more is done about it, and there is no further event.
        if (type === 'step.done' && event.flagged === true && replaced.has(event.step))
          add('flagged_steps', { model, action });
        if (type === 'step.flagged') {
          add('flagged_steps', { model, action });
          if (event.action === 'stop') add('steps', { model, action });
          if (event.action === 'stop') add('stops', { model });
        }
        if (type === 'rollback.done') {
          add('rollbacks', { model, outcome: event.outcome });
          if (event.outcome === 'replaced') add('steps', { model, action });
          if (event.outcome === 'replaced') replaced.add(event.step);
        }
        if (type === 'token.retracted') add('retracted_tokens', { model }, Number(event.tokens));
        if (type === 'generation.done') add('generations', { model, outcome: event.finish_reason });
        if (type !== 'error') continue;
        const { code = '' } = event.error ?? {};
        if (code === 'overloaded') add('admission_refusals', { model, reason: code });
        else add('generations', { model, outcome: 'error' });
        if (code.startsWith('upstream_')) add('upstream_errors', { model, kind: code });
      }
    }
    return counts;
  }

  async #hear(asked: Asked): Promise<readonly SocketEvent[]> {
    const socket = await this.#begin(asked);
    await socket.event(isEnd);
    socket.close(1000);
    return socket.events;
  }

  async #begin(asked: Asked): Promise<TestSocket> {
    const socket = await TestSocket.open(this.#url);
    socket.send({ type: 'generation.create', ...bodyOf(asked) });
    return socket;
  }

  #note(asked: Asked, events: readonly SocketEvent[]): Heard {
    const noted = heard(asked, events);
    this.heard.push(noted);
    return noted;
  }
}
