import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { KeyUsage } from '../access/usage.js';
import type { Config } from '../config/config.js';
import { RENEWAL_MS } from './lease.js';
import { Redis, type RedisOptions } from './redis.js';
import { RedisTickets } from './redis-tickets.js';
import { RedisUsage } from './redis-usage.js';

export interface StateOptions extends Pick<RedisOptions, 'observe'> {
  readonly logger: Logger;
  readonly ticketSeconds: number;
  /** In milliseconds. */
  readonly now: () => number;
  /** Of this gateway alone. */
  readonly usage: KeyUsage;
}

/** What gateways share. */
export interface State {
  readonly usage: KeyUsage;
  readonly tickets: RedisTickets;
  /** Whether Redis answers. */
  readonly up: boolean;
  /** Whether the gateway can take on work as it is configured: not before Redis was reached once. */
  readonly ready: boolean;
  close(): Promise<void>;
}

/** Connects to the Redis of a configuration; it need not be there yet. */
export function openState(
  { url, failure_mode }: NonNullable<Config['state']>,
  { logger, observe, ticketSeconds: seconds, now, usage: own }: StateOptions,
): State {
  const redis = new Redis({ url, logger, observe });
  const open = failure_mode === 'open';
  const gateway = randomBytes(9).toString('base64url');
  const usage = new RedisUsage({ redis, gateway, own, open });
  const renew = async (): Promise<void> => {
    await usage.renew();
    // Whether it answers is to be known also while nobody asks.
    await redis.run((client) => client.ping()).catch(() => {});
  };
  const timer = setInterval(() => redis.up && renew(), RENEWAL_MS).unref();
  return {
    usage,
    tickets: new RedisTickets({ redis, seconds, now }),
    get up() {
      return redis.up;
    },
    get ready() {
      return open ? redis.reached : redis.up;
    },
    close: async () => {
      clearInterval(timer);
      await redis.close();
    },
  };
}
