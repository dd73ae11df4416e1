import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { Redis } from '#redis/redis.js';
import { hasRedis, useRedis } from '../../support/redis.js';

/** As a process that is stopped for this time, and goes on. */
const stopped = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe.skipIf(!hasRedis)('the connection to Redis (skipped without Redis)', () => {
  const redisServer = useRedis();

  it('hears an answer that came while the process was stopped', async () => {
    const [{ url }, observe, logger] = [redisServer.server, vi.fn(), pino({ level: 'silent' })];
    const redis = new Redis({ url, logger, observe, found: () => {} });
    await expect.poll(() => redis.up).toBe(true);
    const answer = redis.run((client) => client.ping());
    await new Promise(setImmediate); // the command is on its way
    const askedMs = performance.now();
    stopped(1500);
    expect(await answer).toBe('PONG');
    expect(redis.wasAwayAt(askedMs)).toBe(false);
    await redis.close();
  });
});
