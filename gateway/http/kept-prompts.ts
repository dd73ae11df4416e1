import type { GuardrailRequest } from '../requests/guardrail-request.js';

/** Prompt of a request. */
export type KeptPrompt = Pick<GuardrailRequest, 'structured_messages' | 'tools'>;

const MOST_BYTES = 64 << 20;
const KEPT_MS = 600_000;

interface Entry {
  readonly prompt: KeptPrompt;
  readonly bytes: number;
  readonly untilMs: number;
}

/**
 * Prompts of requests until their responses come, by principal and id of the call; the oldest are dropped
 * first.
 */
export class KeptPrompts {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  keep(owner: string, id: string, { structured_messages, tools }: KeptPrompt): void {
    const key = keyOf(owner, id);
    this.#forget(key);
    const prompt = { structured_messages, tools };
    const bytes = 2 * JSON.stringify(prompt).length + 2 * key.length;
    if (bytes > MOST_BYTES) return;
    this.#entries.set(key, { prompt, bytes, untilMs: this.#now() + KEPT_MS });
    this.#bytes += bytes;
    for (const [oldest, { untilMs }] of this.#entries) {
      if (this.#bytes <= MOST_BYTES && untilMs > this.#now()) break;
      this.#forget(oldest);
    }
  }

  /** `null` if it is not known any more. A response may come more than once. */
  find(owner: string, id: string): KeptPrompt | null {
    const entry = this.#entries.get(keyOf(owner, id));
    return entry && entry.untilMs > this.#now() ? entry.prompt : null;
  }

  #forget(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

const keyOf = (owner: string, id: string): string => JSON.stringify([owner, id]);
