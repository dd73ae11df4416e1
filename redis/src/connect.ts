import { createClient } from '@redis/client';
import { scripts } from './scripts.js';

const CONNECT_TIMEOUT_MS = 5000;
/** Time without data after which a connection is made anew: a host that is gone without a word says nothing. */
const SILENCE_MS = 15_000;
const LONGEST_WAIT_MS = 2000;

/**
 * A client that connects again for as long as it takes. While it is not connected commands fail at once, and those
 * that were under way are not sent again: the caller decides what that means.
 */
export function createRedisClient(url: string) {
  return createClient({
    url,
    name: 'flinch',
    scripts,
    disableOfflineQueue: true,
    maintNotifications: 'disabled', // of Redis Enterprise alone
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries) => Math.min(LONGEST_WAIT_MS, 100 * 2 ** retries),
    },
  });
}

export type RedisClient = ReturnType<typeof createRedisClient>;
