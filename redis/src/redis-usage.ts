import { consume, type KeyUsage, RateLimiterRedis, type Release } from 'flinch/state';
import type { Redis } from './redis.js';
import { keys, LEASE_MS } from './redis-keys.js';

const MINUTE_S = 60;

export interface RedisUsageOptions {
  readonly redis: Redis;
  /** No other gateway has it. */
  readonly gateway: string;
  /** Usage of this gateway alone. */
  readonly own: KeyUsage;
  /** Whether this gateway's own limits are enough while Redis is away; otherwise limited requests are refused. */
  readonly open: boolean;
}

/**
 * Usage of keys at all gateways together. Each slot is taken in the gateway, too, so that its own limit holds while
 * Redis is away, also for generations that had begun before. In Redis a slot is held for {@link LEASE_MS}, and for
 * longer by {@link renew}: a gateway that dies gives back its slots.
 */
export class RedisUsage implements KeyUsage {
  readonly #options: RedisUsageOptions;
  /** Limiters by the requests that they allow in a minute. */
  readonly #rates = new Map<number, RateLimiterRedis>();
  /** Members of this gateway, by the key of their slot. */
  readonly #held = new Map<string, Set<string>>();
  #count = 0;

  constructor(options: RedisUsageOptions) {
    this.#options = options;
  }

  async request(client: string, perMinute: number, units = 1): Promise<number | null> {
    const { redis, own, open } = this.#options;
    try {
      return await redis.run((storeClient) => this.#consume(storeClient, client, perMinute, units));
    } catch (error) {
      if (!open) throw error;
      return own.request(client, perMinute, units);
    }
  }

  async take(pool: string, most: number): Promise<Release | null> {
    const { redis, gateway, own, open } = this.#options;
    const release = await own.take(pool, most);
    if (!release) return null;
    const key = keys.slots(pool);
    this.#count += 1;
    const member = `${gateway}/${this.#count}`;
    try {
      if (!(await redis.run((client) => client.takePlace(key, member, most, LEASE_MS)))) {
        release();
        return null;
      }
    } catch (error) {
      if (!open) {
        release();
        throw error;
      }
    }
    // The slot is held without Redis, too: it is renewed there once Redis is back.
    this.#hold(key, member);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      release();
      this.#drop(key, member);
      // If this fails, the slot is free when its lease has run out.
      redis.run((client) => client.zRem(key, member)).catch(() => {});
    };
  }

  /** Call this several times within {@link LEASE_MS}. */
  async renew(): Promise<void> {
    const { redis } = this.#options;
    await Promise.all(
      [...this.#held].map(([key, members]) =>
        redis.run((client) => client.renewPlaces(key, [...members], LEASE_MS)).catch(() => {}),
      ),
    );
  }

  #consume(storeClient: unknown, client: string, points: number, units: number): Promise<number | null> {
    const rate =
      this.#rates.get(points) ??
      new RateLimiterRedis({
        storeClient,
        useRedisPackage: true,
        keyPrefix: 'flinch:rate',
        points,
        duration: MINUTE_S,
      });
    this.#rates.set(points, rate);
    return consume(rate, client, units);
  }

  #hold(key: string, member: string): void {
    const members = this.#held.get(key) ?? new Set();
    this.#held.set(key, members.add(member));
  }

  #drop(key: string, member: string): void {
    const members = this.#held.get(key);
    members?.delete(member);
    if (members?.size === 0) this.#held.delete(key);
  }
}
