import { type CommandParser, defineScript } from '@redis/client';

/**
 * What must happen at once, as Lua scripts. Each uses keys of one hash slot and the clock of Redis. Needs Redis 6.2,
 * or any Valkey.
 */
export const scripts = {
  /**
   * Takes a place: one member of a sorted set, by the time at which it runs out.
   * @returns 1, or 0 if all are taken
   */
  takePlace: defineScript({
    NUMBER_OF_KEYS: 1,
    SCRIPT: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`,
    parseCommand(parser: CommandParser, key: string, member: string, most: number, leaseMs: number) {
      parser.pushKey(key);
      parser.push(member, String(most), String(leaseMs));
    },
    transformReply: (reply: number) => reply === 1,
  }),

  /** Holds places for longer, also those that were lost with Redis' memory. */
  renewPlaces: defineScript({
    NUMBER_OF_KEYS: 1,
    SCRIPT: `
local time = redis.call('TIME')
local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], until_ms, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
    parseCommand(parser: CommandParser, key: string, members: readonly string[], leaseMs: number) {
      parser.pushKey(key);
      parser.push(String(leaseMs), ...members);
    },
    transformReply: (_: number): void => {},
  }),
};
