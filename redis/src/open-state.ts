import { randomBytes } from 'node:crypto';
import { HISTORY_BYTES, type OpenState } from 'flinch/state';
import { Redis } from './redis.js';
import { RedisGenerations } from './redis-generations.js';
import { RENEWAL_MS } from './redis-keys.js';
import { redisTickets } from './redis-tickets.js';
import { RedisUsage } from './redis-usage.js';

/** Connects to the Redis of a configuration; it need not be there yet. */
export const openState: OpenState = (
  { url, failure_mode },
  { logger, observe, resumeMs, historyEvents, now, usage: own },
) => {
  const redis = new Redis({ url, logger, observe, found: () => renew() });
  const open = failure_mode === 'open';
  const gateway = randomBytes(9).toString('base64url');
  const usage = new RedisUsage({ redis, gateway, own, open });
  const generations = new RedisGenerations({
    redis,
    logger,
    resumeMs,
    history: { events: historyEvents, bytes: HISTORY_BYTES },
  });
  const renew = (): void => {
    void usage.renew();
    void generations.renew();
  };
  const timer = setInterval(() => redis.up && renew(), RENEWAL_MS).unref();
  return {
    usage,
    generations,
    tickets: redisTickets(redis, now),
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
};
