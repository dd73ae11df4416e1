import { getHeapStatistics } from 'node:v8';
import { retracts } from '../../src/guard/guard.js';
import type { GuardEvent } from '../../src/stream/events.js';
import { ApiError } from '../errors/api-error.js';
import type { Observe } from './observers.js';

/** Bytes of a V8 object, and of each of its fields, with room for the maps and lists that it is in. */
const OBJECT_BYTES = 48;
const FIELD_BYTES = 16;

/** Memory of one answer, a share of the memory for kept answers. */
export interface KeptAnswer {
  add(event: GuardEvent): void;
  /** Subtracts an event that was sent and is not kept any more. */
  remove(event: GuardEvent): void;
  close(): void;
}

interface Kept {
  readonly client: string;
  bytes: number;
  readonly end: (error: ApiError) => void;
}

/**
 * Memory of answers that are kept until they are over or sent: those that are not streamed, that may be continued
 * in other ways, or whose steps are held back. If all together take too much, the client that takes most loses its
 * largest answer, which ends with an error: a client with many requests takes no other client's memory.
 */
export class KeptAnswers {
  readonly #limit: number;
  readonly #all = new Set<Kept>();
  #bytes = 0;

  /** @param limit bytes, as far as the values of events tell; by default a quarter of the heap */
  constructor(limit: number = getHeapStatistics().heap_size_limit / 4) {
    this.#limit = limit;
  }

  /**
   * @param client the client that gets the answer
   * @param end ends the answer, which is closed then
   */
  open(client: string, end: (error: ApiError) => void): KeptAnswer {
    const kept: Kept = { client, bytes: 0, end };
    this.#all.add(kept);
    return {
      add: (event) => {
        this.#set(kept, kept.bytes + bytesOf(event));
        if (this.#bytes > this.#limit) this.#endLargest();
      },
      // The event that is sent may say more than the one that was kept, such as how long it was held.
      remove: (event) => this.#set(kept, Math.max(0, kept.bytes - bytesOf(event))),
      close: () => this.#close(kept),
    };
  }

  /** Counts the kept events of an answer: all of them, or those held back. */
  readonly observe: Observe = ({ client, kept = false }) => {
    let answer: KeptAnswer | null = null;
    let held = false;
    let whole = false;
    return {
      started: ({ guard: { enabled, action, delivery } }, end) => {
        held = enabled && delivery === 'held';
        whole = kept || (enabled && retracts(action));
        if (held || whole) answer = this.open(client, end);
      },
      written: (event) => {
        if (held) answer?.add(event);
      },
      told: (event) => {
        if (!held) answer?.add(event);
        else if (!whole) answer?.remove(event);
      },
      over: () => answer?.close(),
    };
  };

  #set(kept: Kept, bytes: number): void {
    if (!this.#all.has(kept)) return;
    this.#bytes += bytes - kept.bytes;
    kept.bytes = bytes;
  }

  #close(kept: Kept): void {
    this.#set(kept, 0);
    this.#all.delete(kept);
  }

  #endLargest(): void {
    const clients = new Map<string, number>();
    for (const { client, bytes } of this.#all) clients.set(client, bytes + (clients.get(client) ?? 0));
    const most = Math.max(...clients.values());
    const [first, ...others] = [...this.#all].filter(({ client }) => clients.get(client) === most);
    if (!first) return;
    const largest = others.reduce((a, b) => (b.bytes > a.bytes ? b : a), first);
    this.#close(largest);
    const problem = 'the answers that are kept take more, and this one takes most of it';
    const text = `limits.kept_bytes: ${problem}; ask for fewer tokens, or stream it`;
    largest.end(new ApiError('answer_too_large', text));
  }
}

/** Approximate bytes of a value in memory. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return FIELD_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = OBJECT_BYTES;
  for (const each of Object.values(value)) bytes += FIELD_BYTES + bytesOf(each);
  return bytes;
}
