import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { KeyUsage } from '../access/usage.js';
import type { Config } from '../config/config.js';
import { RENEWAL_MS } from './lease.js';
import { Redis, type RedisOptions } from './redis.js';
import { RedisGenerations } from './redis-generations.js';
import { RedisTickets } from './redis-tickets.js';
import { RedisUsage } from './redis-usage.js';

export interface StateOptions extends Pick<RedisOptions, 'observe'> {
  readonly logger: Logger;
  /** As in {@link RedisGenerationsOptions.tookOver}. */
  readonly tookOver: (wentOn: boolean) => void;
  readonly config: Pick<Config, 'streams'> & { readonly access: Pick<Config['access'], 'ticket_s'> };
  /** In milliseconds. */
  readonly now: () => number;
  /** Of this gateway alone. */
  readonly usage: KeyUsage;
}

/** What gateways share. */
export interface State {
  readonly usage: KeyUsage;
  readonly tickets: RedisTickets;
  readonly generations: RedisGenerations;
  /** Whether Redis answers. */
  readonly up: boolean;
  /** Whether the gateway can take on work as it is configured: not before Redis was reached once. */
  readonly ready: boolean;
  close(): Promise<void>;
}

/** Connects to the Redis of a configuration; it need not be there yet. */
export function openState(
  { url, failure_mode }: NonNullable<Config['state']>,
  { logger, observe, tookOver, config: { streams, access }, now, usage: own }: StateOptions,
): State {
  const redis = new Redis({ url, logger, observe, found: () => renew() });
  const open = failure_mode === 'open';
  const gateway = randomBytes(9).toString('base64url');
  const usage = new RedisUsage({ redis, gateway, own, open });
  const generations = new RedisGenerations({
    ...{ redis, logger, tookOver, resumeMs: 1000 * streams.resume_s },
    history: { events: streams.history_events, bytes: streams.history_bytes },
  });
  const renew = (): void => {
    void usage.renew();
    void generations.renew();
  };
  const timer = setInterval(() => redis.up && renew(), RENEWAL_MS).unref();
  return {
    ...{ usage, generations },
    tickets: new RedisTickets({ redis, seconds: access.ticket_s, now }),
    get up() {
      return redis.up;
    },
    get ready() {
      return open ? redis.reached : redis.up;
    },
    close: async () => {
      clearInterval(timer);
      await generations.close();
      await redis.close();
    },
  };
}
