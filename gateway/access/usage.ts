import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { FairSlots, type Release } from './fair-slots.js';

const MINUTE_S = 60;

export type { Release };

type Now<T> = T | Promise<T>;

/** Limited usage of keys. Gateways that share a state share one of these (gateway/state). */
export interface KeyUsage {
  /**
   * Counts one request, or other units; a minute begins with the first of them.
   * @returns `null`, or once there are too many the milliseconds until the next minute begins
   */
  request(client: string, perMinute: number, units?: number): Promise<number | null>;
  /**
   * Takes one of so many slots, such as those of a client's generations.
   * @returns `null` if all are taken
   */
  take(pool: string, most: number): Now<Release | null>;
}

/** Limited usage of all clients. The workers of one port share one of these. */
export interface Usage extends KeyUsage {
  /**
   * The same as `take` for slots that clients share, such as those of a model's generations ({@link FairSlots}):
   * a client with less than its share may wait for one.
   */
  share(pool: string, most: number, client: string): Now<Release | null>;
}

/** The usage of this process. */
export class OwnUsage implements Usage {
  /** Limiters by the requests that they allow in a minute. They forget clients when their minute is over. */
  readonly #rates = new Map<number, RateLimiterMemory>();
  readonly #taken = new Map<string, number>();
  readonly #shared = new Map<string, FairSlots>();

  async request(client: string, perMinute: number, units = 1): Promise<number | null> {
    const rate =
      this.#rates.get(perMinute) ?? new RateLimiterMemory({ points: perMinute, duration: MINUTE_S });
    this.#rates.set(perMinute, rate);
    return consume(rate, client, units);
  }

  take(pool: string, most: number): Release | null {
    const taken = this.#taken.get(pool) ?? 0;
    if (taken >= most) return null;
    this.#taken.set(pool, taken + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#taken.get(pool) ?? 0) - 1;
      if (left > 0) this.#taken.set(pool, left);
      else this.#taken.delete(pool);
    };
  }

  share(pool: string, most: number, client: string): Now<Release | null> {
    const shared = this.#shared.get(pool) ?? new FairSlots(most);
    this.#shared.set(pool, shared);
    return shared.take(client);
  }
}

/** @returns `null`, or once there are too many the milliseconds until the next minute begins */
export async function consume(
  rate: RateLimiterAbstract,
  client: string,
  units: number,
): Promise<number | null> {
  try {
    await rate.consume(client, units);
    return null;
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    return rejection.msBeforeNext;
  }
}
