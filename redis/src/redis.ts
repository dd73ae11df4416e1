import { ApiError, type CommandFailure, type StateOptions } from 'flinch/state';
import type { RedisClient } from './connect.js';

/** Timeout of a command. Every request waits for one. */
const COMMAND_TIMEOUT_MS = 1000;
const LAST_MS = 200;
/** Delay between two attempts of a Redis that is there, but not ready, such as one that loads its data. */
const RETRY_MS = 1000;
/** Interval between two lines of the log on refused commands. */
const LOG_INTERVAL_MS = 10_000;

export interface RedisOptions extends Pick<StateOptions, 'logger' | 'observe'> {
  /** `redis://` or `rediss://` */
  readonly url: string;
  /** Called when it answers, for the first time or again. */
  readonly found: () => void;
}

/**
 * A Redis or Valkey server, which may be away. While it is, commands fail at once, so that requests do not wait in
 * vain.
 */
export class Redis {
  readonly #options: RedisOptions;
  readonly #client: Promise<RedisClient>;
  #up = false;
  #reached = false;
  /** Why it is away, as the log has it: a failure for the same reason is no news. */
  #reason: string | null = null;
  #closed = false;
  #probing = false;
  /** Since when it has answered, or not answered, in `performance.now()`. */
  #sinceMs = 0;
  #retry: NodeJS.Timeout | undefined;
  #lastRefusalMs = Number.NEGATIVE_INFINITY;

  /** Connects, and connects again for as long as it takes. */
  constructor(options: RedisOptions) {
    this.#options = options;
    this.#client = this.#connect();
  }

  /** Whether it answers. */
  get up(): boolean {
    return this.#up;
  }

  /** Whether it ever did. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Time for which it has answered, in milliseconds; 0 while it does not. */
  get upForMs(): number {
    return this.#up ? performance.now() - this.#sinceMs : 0;
  }

  /** Whether it is away, and was at a time in the past, in `performance.now()`. */
  wasAwayAt(ms: number): boolean {
    return !this.#up && this.#sinceMs <= ms;
  }

  /** A further connection to the same, for commands that wait. It says nothing in the log. */
  async another(): Promise<RedisClient> {
    const client = (await this.#client).duplicate();
    client.on('error', () => {});
    client.connect().catch(() => {}); // it tries until it is closed
    return client;
  }

  /** @throws ApiError 503 `state_unavailable` without an answer in time, and with an error as answer */
  async run<T>(command: (client: RedisClient) => Promise<T>): Promise<T> {
    const { observe } = this.#options;
    if (!this.#up) {
      observe(null, 'connection');
      throw unavailable();
    }
    const client = await this.#client;
    const startMs = performance.now();
    const seconds = (): number => (performance.now() - startMs) / 1000;
    try {
      const answer = await inTime(command(client));
      observe(seconds(), null);
      return answer;
    } catch (error) {
      const failure = failureOf(error, client);
      observe(seconds(), failure);
      if (failure === 'refused') this.#refused(error);
      else this.#lost(error);
      throw unavailable();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#up = false;
    clearTimeout(this.#retry);
    const client = await this.#client;
    if (client.isOpen) client.destroy();
  }

  async #connect(): Promise<RedisClient> {
    // Loaded where it is used.
    const { createRedisClient } = await import('./connect.js');
    const client = createRedisClient(this.#options.url);
    client.on('ready', () => this.#probe());
    client.on('error', (error) => this.#lost(error));
    // Ends with `close` alone: it tries until then, and says so as `error`.
    if (!this.#closed) client.connect().catch((error) => this.#lost(error));
    return client;
  }

  /** Waits for one answer, however long: a Redis that is stopped says it when it goes on. */
  async #probe(): Promise<void> {
    const client = await this.#client;
    if (this.#probing || this.#closed || !client.isReady) return;
    this.#probing = true;
    try {
      await client.ping();
      this.#found();
    } catch (error) {
      this.#lost(error);
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.#probe(), RETRY_MS).unref();
    } finally {
      this.#probing = false;
    }
  }

  #found(): void {
    if (this.#up || this.#closed) return;
    this.#options.logger.info(this.#reached ? 'Redis is back' : 'Redis is connected');
    this.#up = true;
    this.#sinceMs = performance.now();
    this.#reached = true;
    this.#reason = null;
    this.#options.found();
  }

  #lost(error: unknown): void {
    if (this.#closed) return;
    const reason = reasonOf(error);
    if (reason !== this.#reason) this.#options.logger.error({ reason }, 'Redis is away');
    this.#reason = reason;
    if (!this.#up) return;
    this.#up = false;
    this.#sinceMs = performance.now();
    void this.#probe();
  }

  #refused(error: unknown): void {
    const now = performance.now();
    if (now - this.#lastRefusalMs < LOG_INTERVAL_MS) return;
    this.#lastRefusalMs = now;
    this.#options.logger.error({ reason: reasonOf(error) }, 'Redis refused a command');
  }
}

class TimeoutError extends Error {}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new TimeoutError(`no answer within ${COMMAND_TIMEOUT_MS} ms`);
    // After a stop, a process runs its timers before it reads or writes its sockets. The second timer leaves time for
    // that.
    timer = setTimeout(() => {
      timer = setTimeout(() => reject(error), LAST_MS);
    }, COMMAND_TIMEOUT_MS - LAST_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

function failureOf(error: unknown, { isReady }: RedisClient): CommandFailure {
  if (error instanceof TimeoutError) return 'timeout';
  return isReady ? 'refused' : 'connection';
}

/** Message of an error of the client or of Redis. Neither contains the password. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

const unavailable = (): ApiError =>
  new ApiError('state_unavailable', 'the state that gateways share (Redis) cannot be used');
