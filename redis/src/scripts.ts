import { type CommandParser, defineScript } from '@redis/client';
import { keys } from './redis-keys.js';

/** Frames to be written. */
export interface Batch {
  /** Offset of the first of the frames. */
  readonly offset: number;
  /** Offset of the oldest frame to be kept. */
  readonly oldest: number;
  /** Whether no more follow. */
  readonly last: boolean;
  readonly keptMs: number;
  readonly frames: readonly string[];
}

/** State of a generation in Redis. */
export interface Look {
  readonly model: string;
  /** How it ended: `done`, or `owner_lost`; empty before. */
  readonly ended: string;
  /** Offset of the oldest frame that is there. */
  readonly first: number;
  /** Offset of the next frame to be written. */
  readonly next: number;
}

export interface LookOptions {
  /** Whether a gateway without a lease counts as gone. */
  readonly mayEnd: boolean;
  readonly keptMs: number;
}

/**
 * Atomic operations, as Lua scripts. They use the clock of Redis, and keys of several hash slots: a Redis Cluster would
 * refuse them. They need Redis 6.2, or any Valkey.
 *
 * A generation has a hash with its `owner` (the key's name), `epoch` (of the gateway that writes it), `model`, `next`
 * (the offset of its next frame) and, at its end, `ended`: `done`, or `owner_lost` once another gateway has found that
 * the lease of its gateway has run out, after which nothing is written. Its frames are a stream with ids that are their
 * offsets plus 1; a last entry without a frame says how it ended.
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

  /** Makes a generation known, and renews the lease of its gateway, without which it would count as lost. */
  publish: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
redis.call('HSET', KEYS[1], 'owner', ARGV[3], 'epoch', ARGV[4], 'model', ARGV[5], 'next', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
    parseCommand(
      parser: CommandParser,
      { id, owner, epoch, model }: Readonly<Record<'id' | 'owner' | 'epoch' | 'model', string>>,
      { leaseMs, keptMs }: Readonly<Record<'leaseMs' | 'keptMs', number>>,
    ) {
      parser.pushKeys([keys.generation(id), keys.lease(epoch)]);
      parser.push(String(leaseMs), String(keptMs), owner, epoch, model);
    },
    transformReply: (_: number): void => {},
  }),

  /**
   * Writes frames from an offset on if they are not there, and the end if they are the last. Forgets the oldest.
   * @returns the offset of the next frame, at which the rest is to go; -1 if the generation is not known any more,
   *   -2 if another gateway has ended it
   */
  append: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
local found = redis.call('HMGET', KEYS[1], 'next', 'ended')
if not found[1] then return -1 end
if found[2] == 'owner_lost' then return -2 end
local next, first = tonumber(found[1]), tonumber(ARGV[1])
if first > next or found[2] then return next end
for i = 5 + next - first, #ARGV do
  redis.call('XADD', KEYS[2], (next + 1) .. '-0', 'f', ARGV[i])
  next = next + 1
end
redis.call('HSET', KEYS[1], 'next', next)
if ARGV[3] == '1' then
  redis.call('XADD', KEYS[2], (next + 1) .. '-0', 'e', 'done')
  redis.call('HSET', KEYS[1], 'ended', 'done')
end
redis.call('XTRIM', KEYS[2], 'MINID', '~', (ARGV[2] + 1) .. '-0')
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return next`,
    parseCommand(parser: CommandParser, id: string, batch: Batch) {
      const { offset, oldest, last, keptMs, frames } = batch;
      parser.pushKeys([keys.generation(id), keys.events(id)]);
      parser.push(String(offset), String(oldest), last ? '1' : '0', String(keptMs), ...frames);
    },
    transformReply: (reply: number) => reply,
  }),

  /**
   * Looks up a generation of this owner and epoch. If the lease of its gateway has run out before it ended, it ends here,
   * as `owner_lost`. A generation that ended is kept for as long as it is looked up.
   */
  look: defineScript({
    NUMBER_OF_KEYS: 3,
    SCRIPT: `
local found = redis.call('HMGET', KEYS[1], 'owner', 'epoch', 'model', 'next', 'ended')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then return false end
local next, ended = found[4], found[5] or ''
if redis.call('EXISTS', KEYS[3]) == 0 then
  if ended == '' and ARGV[4] == '1' then
    ended = 'owner_lost'
    redis.call('XADD', KEYS[2], (next + 1) .. '-0', 'e', ended)
    redis.call('HSET', KEYS[1], 'ended', ended)
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
first = first and string.match(first[1], '^%d+') - 1 or next
return { found[3], ended, tostring(first), next }`,
    parseCommand(
      parser: CommandParser,
      { id, owner, epoch }: Readonly<Record<'id' | 'owner' | 'epoch', string>>,
      { mayEnd, keptMs }: LookOptions,
    ) {
      parser.pushKeys([keys.generation(id), keys.events(id), keys.lease(epoch)]);
      parser.push(owner, epoch, String(keptMs), mayEnd ? '1' : '0');
    },
    transformReply(reply: string[] | null): Look | null {
      if (!reply) return null;
      const [model = '', ended = '', first, next] = reply;
      return { model, ended, first: Number(first), next: Number(next) };
    },
  }),

  /** Removes a generation, unless another gateway has ended it: its client is to learn that. */
  remove: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
if redis.call('HGET', KEYS[1], 'ended') == 'owner_lost' then return 0 end
return redis.call('UNLINK', KEYS[1], KEYS[2])`,
    parseCommand(parser: CommandParser, id: string) {
      parser.pushKeys([keys.generation(id), keys.events(id)]);
    },
    transformReply: (_: number): void => {},
  }),

  /** Puts a message into the inbox of a gateway, if it lives. */
  tell: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'm', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`,
    parseCommand(parser: CommandParser, gateway: string, message: string, most: number, keptMs: number) {
      parser.pushKeys([keys.inbox(gateway), keys.lease(gateway)]);
      parser.push(message, String(most), String(keptMs));
    },
    transformReply: (_: number): void => {},
  }),
};
