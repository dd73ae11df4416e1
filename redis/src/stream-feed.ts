import { setTimeout as wait } from 'node:timers/promises';
import type { RedisClient } from './connect.js';
import type { Redis } from './redis.js';

/** Maximum entries of each stream in one answer. */
const MOST_ENTRIES = 256;
/** A stream that is added is read at the latest by then. */
const BLOCK_MS = 1000;
const RETRY_MS = 200;

/** An entry of a stream: its id, and its fields by name. */
export interface Entry {
  readonly id: string;
  readonly message: Readonly<Record<string, string>>;
}

interface Followed {
  /** Id of the last entry that was read. */
  id: string;
  readonly received: (entries: readonly Entry[]) => void;
}

/**
 * Reads any number of streams on one connection of its own, which waits for entries of all of them at once (`XREAD
 * BLOCK`). While Redis is away it waits; then it reads on behind what it read last.
 */
export class StreamFeed {
  readonly #redis: Redis;
  readonly #streams = new Map<string, Followed>();
  /** Makes the connection look at its streams anew. */
  readonly #wake: () => void;
  #closed = false;
  #client: RedisClient | null = null;
  #answeredMs = performance.now();

  constructor(redis: Redis, wake: () => void) {
    this.#redis = redis;
    this.#wake = wake;
    void this.#run();
  }

  /** @param after id of the entry behind which it begins */
  follow(key: string, after: string, received: Followed['received']): void {
    this.#streams.set(key, { id: after, received });
    this.#wake();
  }

  /** Time since the last answer of Redis, in milliseconds; an answer without entries counts. */
  get silentMs(): number {
    return performance.now() - this.#answeredMs;
  }

  leave(key: string): void {
    this.#streams.delete(key);
  }

  close(): void {
    this.#closed = true;
    this.#streams.clear();
    if (this.#client?.isOpen) this.#client.destroy();
  }

  async #run(): Promise<void> {
    const client = await this.#redis.another();
    this.#client = client;
    if (this.#closed) client.destroy();
    while (!this.#closed) {
      try {
        await this.#read(client);
      } catch {
        // Whether Redis is away, the connection for commands says.
        await wait(RETRY_MS, null, { ref: false });
      }
    }
  }

  async #read(client: RedisClient): Promise<void> {
    const asked = [...this.#streams];
    if (asked.length === 0) {
      await wait(RETRY_MS, null, { ref: false });
      return;
    }
    const from = asked.map(([key, { id }]) => ({ key, id }));
    const streams = await client.xRead(from, { BLOCK: BLOCK_MS, COUNT: MOST_ENTRIES });
    this.#answeredMs = performance.now();
    for (const { name, messages } of streams ?? []) {
      const followed = this.#streams.get(name);
      const last = messages.at(-1);
      // One that was left, or is followed anew from elsewhere, while this answer was on its way.
      if (!followed || !last || !asked.some(([, each]) => each === followed)) continue;
      followed.id = last.id;
      followed.received(messages);
    }
  }
}
