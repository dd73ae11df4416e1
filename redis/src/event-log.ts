import type { Publication, Published } from 'flinch/state';
import type { Redis } from './redis.js';
import { keys } from './redis-keys.js';

/** Maximum frames of one command. */
const MOST_FRAMES = 256;
const RETRY_MS = 500;

const GONE = -1;
const ENDED_ELSEWHERE = -2;

export interface EventLogOptions {
  readonly redis: Redis;
  readonly generation: Published;
  /** Time for which Redis keeps it without a renewal. */
  readonly keptMs: number;
  /** Called when it is in Redis no more, or not ours to remove. */
  readonly dropped: () => void;
}

/**
 * Writes the frames of a generation to Redis, in order, each once, as many as its history keeps. Frames that could not be written are written later, as long as the
 * history has them; then the generation is given up, and other gateways cannot read it any more.
 */
export class EventLog implements Publication {
  readonly #options: EventLogOptions;
  /** Offset of the next frame to be written. */
  #written = 0;
  #over = false;
  #endWritten = false;
  #given = false;
  #flushing: Promise<void> | null = null;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  changed(): void {
    if (this.#flushing || this.#retry || this.#given) return;
    // Frames of one turn of the event loop go in one command.
    this.#flushing = Promise.resolve()
      .then(() => this.#flush())
      .finally(() => {
        this.#flushing = null;
        if (!this.#complete) this.changed(); // it has changed since
      });
  }

  ended(): void {
    this.#over = true;
    this.changed();
  }

  forgotten(): void {
    this.#giveUp();
  }

  /** Call this several times within the time for which it is kept. */
  async renew(): Promise<void> {
    if (this.#given) return this.#drop();
    const { redis, generation, keptMs } = this.#options;
    await redis.run((client) =>
      Promise.all([
        client.pExpire(keys.generation(generation.id), keptMs),
        client.pExpire(keys.events(generation.id), keptMs),
      ]),
    );
  }

  /** Once all is written, or cannot be for now. */
  async flushed(): Promise<void> {
    await this.#flushing;
  }

  /** Finds out whether another gateway has ended it, after others may have taken us for dead. */
  async verify(): Promise<void> {
    const { redis, generation } = this.#options;
    const ended = await redis.run((client) => client.hGet(keys.generation(generation.id), 'ended'));
    if (ended === 'owner_lost') this.#endedElsewhere();
  }

  get #complete(): boolean {
    return this.#written === this.#options.generation.history.next && this.#endWritten === this.#over;
  }

  async #flush(): Promise<void> {
    try {
      while (!this.#given && !this.#complete) await this.#append();
    } catch {
      // Redis is away, or has no room; it says so itself.
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.changed();
      }, RETRY_MS).unref();
    }
  }

  async #append(): Promise<void> {
    const { redis, generation, keptMs } = this.#options;
    const { id, history } = generation;
    const offset = this.#written;
    const frames = history.from(offset, MOST_FRAMES);
    if (!frames) return this.#giveUp();
    const last = this.#over && offset + frames.length === history.next;
    const batch = { offset, oldest: history.first, last, keptMs, frames };
    const next = await redis.run((client) => client.append(id, batch));
    if (next === GONE) return this.#giveUp();
    if (next === ENDED_ELSEWHERE) return this.#endedElsewhere();
    // Less than was written where Redis has lost some, as after a failover: again from there.
    this.#written = next;
    if (last && next === offset + frames.length) this.#endWritten = true;
  }

  /** Stops writing: its client was told that there is no more. */
  #endedElsewhere(): void {
    if (this.#given) return;
    this.#given = true;
    clearTimeout(this.#retry);
    this.#options.dropped();
    this.#options.generation.endedElsewhere();
  }

  #giveUp(): void {
    if (this.#given) return;
    this.#given = true;
    clearTimeout(this.#retry);
    this.#drop().catch(() => {}); // again with the next renewal
  }

  async #drop(): Promise<void> {
    const { redis, generation, dropped } = this.#options;
    await redis.run((client) => client.remove(generation.id));
    dropped();
  }
}
