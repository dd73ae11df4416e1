import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { WebhookEvent } from '../config/webhooks-section.js';
import type { WebhookMessage } from './message.js';
import type { Poster, PostOutcome } from './post.js';
import { signatureHeaders } from './webhook-signature.js';

/** Messages that may wait, those under way among them. */
const MAX_MESSAGES = 1000;
/** Maximum messages under way at once. */
const AT_ONCE = 4;
/** Wait before each further try; chance makes it up to half of it more or less. */
const WAITS_MS = [1000, 5000, 30_000];

/** Statuses below 500 that are worth another try; all other refusals, and redirects, are final. */
const PASSING: ReadonlySet<number> = new Set([408, 429]);

export interface DeliveryOptions {
  readonly key: Buffer;
  readonly poster: Poster;
  readonly outcome: (event: WebhookEvent, outcome: DeliveryOutcome, why?: PostOutcome) => void;
  readonly most?: number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const DELIVERIES = ['delivered', 'failed', 'dropped'] as const;
export type DeliveryOutcome = (typeof DELIVERIES)[number];

interface Waiting {
  readonly id: string;
  readonly event: WebhookEvent;
  readonly body: string;
}

/** Sends messages to one receiver in the background: nothing waits for it, and messages over the limit are dropped. */
export class Delivery {
  readonly #options: Required<DeliveryOptions>;
  readonly #queue: Waiting[] = [];
  readonly #idle = new Set<() => void>();
  /** Aborts the waits between tries. */
  readonly #hurry = new AbortController();
  #underWay = 0;
  #ended = false;

  constructor(options: DeliveryOptions) {
    this.#options = {
      most: MAX_MESSAGES,
      wait: (ms, signal) => setTimeout(ms * (0.5 + Math.random()), undefined, { signal, ref: false }),
      ...options,
    };
  }

  push({ type, data }: WebhookMessage): void {
    const { most, outcome } = this.#options;
    if (this.#hurry.signal.aborted || this.#queue.length + this.#underWay >= most) {
      outcome(type, 'dropped');
      return;
    }
    const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
    this.#queue.push({ id: `msg_${randomUUID()}`, event: type, body });
    this.#next();
  }

  /**
   * Takes no more messages, and tries those that are left once more.
   * @param ms time limit; messages that are left then are dropped
   */
  async close(ms: number): Promise<void> {
    this.#hurry.abort();
    if (this.#underWay > 0) {
      const idle = new Promise<void>((resolve) => this.#idle.add(resolve));
      await Promise.race([idle, setTimeout(ms, undefined, { ref: false })]);
    }
    this.#ended = true;
    this.#options.poster.close();
    for (const { event } of this.#queue.splice(0)) this.#options.outcome(event, 'dropped');
  }

  #next(): void {
    for (let message = this.#take(); message; message = this.#take()) {
      this.#underWay += 1;
      void this.#deliver(message).finally(() => {
        this.#underWay -= 1;
        this.#next();
        if (this.#underWay === 0) for (const resolve of this.#idle) resolve();
      });
    }
  }

  #take(): Waiting | undefined {
    return this.#underWay < AT_ONCE ? this.#queue.shift() : undefined;
  }

  async #deliver(message: Waiting): Promise<void> {
    const { wait, outcome } = this.#options;
    for (let tries = 0; ; tries++) {
      const hurries = this.#hurry.signal.aborted;
      const answer = await this.#send(message);
      if (isTaken(answer)) return outcome(message.event, 'delivered');
      if (this.#ended) return outcome(message.event, 'dropped');
      const ms = WAITS_MS[tries];
      if (!isPassing(answer) || ms === undefined || hurries) return outcome(message.event, 'failed', answer);
      await wait(ms, this.#hurry.signal).catch(() => {});
    }
  }

  #send({ id, body }: Waiting): Promise<PostOutcome> {
    const { key, poster } = this.#options;
    return poster.post(signatureHeaders(key, id, Math.floor(Date.now() / 1000), body), body);
  }
}

const isTaken = (answer: PostOutcome): boolean =>
  'status' in answer && answer.status >= 200 && answer.status < 300;

const isPassing = (answer: PostOutcome): boolean =>
  !('status' in answer) || answer.status >= 500 || PASSING.has(answer.status);
