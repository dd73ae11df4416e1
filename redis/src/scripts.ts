import { type CommandParser, defineScript } from '@redis/client';
import { FIRST_FENCE } from './fence.js';
import { keys } from './keys.js';

/** Frames to be written. */
export interface Batch {
  readonly fence: string;
  /** Offset of the first of the frames. */
  readonly offset: number;
  /** Offset of the oldest frame to be kept. */
  readonly oldest: number;
  /** How it ended, if no more follow; else empty. */
  readonly end: 'done' | 'owner_lost' | '';
  readonly keptMs: number;
  readonly frames: readonly string[];
}

/** State of a generation in Redis. */
export interface Look {
  readonly model: string;
  /** The gateway that has it, by its epoch. */
  readonly gateway: string;
  /** The new fencing number if it became ours by this look. */
  readonly claim: string | null;
  /** Data with which a gateway can go on with it; `null` if none can. */
  readonly record: string | null;
  /** How it ended; empty before. */
  readonly ended: string;
  /** Offset of the oldest frame that is there. */
  readonly first: number;
  /** Offset of the next frame to be written. */
  readonly next: number;
}

export interface LookOptions {
  /** Epoch of the gateway that looks. */
  readonly gateway: string;
  /** Whether a generation of a gateway that is gone may become that of the gateway that looks. */
  readonly mayClaim: boolean;
  readonly keptMs: number;
  readonly leaseMs: number;
}

/**
 * Atomic operations, as Lua scripts. They use the clock of Redis, and keys of several hash slots: a Redis Cluster would
 * refuse them. They need Redis 6.2, or any Valkey.
 *
 * A generation has a hash with its `owner` (the key's name), `epoch` (of the gateway that its client began it at),
 * `gateway` (the epoch of the one that has it), `model`, `record` (the data to go on with it, if that is possible),
 * `fence`, `next` (the offset of its next frame) and, at its end, `ended`: `done`, or why it was cut off. Its frames
 * are a stream with ids that are their offsets plus 1; a last entry without a frame says that it ended. The writer
 * must know `fence`, which changes when another gateway has found that the lease of `gateway` has run out.
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
redis.call('HSET', KEYS[1], 'owner', ARGV[3], 'epoch', ARGV[4], 'gateway', ARGV[4], 'model', ARGV[5],
  'fence', '${FIRST_FENCE}', 'next', '0')
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'record', ARGV[6]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
    parseCommand(
      parser: CommandParser,
      {
        id,
        owner,
        epoch,
        model,
        record,
      }: Readonly<Record<'id' | 'owner' | 'epoch' | 'model', string>> & {
        readonly record: string | undefined;
      },
      { leaseMs, keptMs }: Readonly<Record<'leaseMs' | 'keptMs', number>>,
    ) {
      parser.pushKeys([keys.generation(id), keys.lease(epoch)]);
      parser.push(String(leaseMs), String(keptMs), owner, epoch, model, record ?? '');
    },
    transformReply: (_: number): void => {},
  }),

  /**
   * Writes frames from an offset on if they are not there, and the end if they are the last. Forgets the oldest.
   * @returns the offset of the next frame, at which the rest is to go; -1 if the generation is not known any more,
   *   -2 if the fence has changed
   */
  append: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
local found = redis.call('HMGET', KEYS[1], 'fence', 'next', 'ended')
if not found[1] then return -1 end
if found[1] ~= ARGV[1] then return -2 end
local next, first = tonumber(found[2]), tonumber(ARGV[2])
if first > next or found[3] then return next end
for i = 6 + next - first, #ARGV do
  redis.call('XADD', KEYS[2], (next + 1) .. '-0', 'f', ARGV[i])
  next = next + 1
end
redis.call('HSET', KEYS[1], 'next', next)
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[2], (next + 1) .. '-0', 'e', ARGV[4])
  redis.call('HSET', KEYS[1], 'ended', ARGV[4])
end
redis.call('XTRIM', KEYS[2], 'MINID', '~', (ARGV[3] + 1) .. '-0')
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return next`,
    parseCommand(parser: CommandParser, id: string, batch: Batch) {
      const { fence, offset, oldest, end, keptMs, frames } = batch;
      parser.pushKeys([keys.generation(id), keys.events(id)]);
      parser.push(fence, String(offset), String(oldest), end, String(keptMs), ...frames);
    },
    transformReply: (reply: number) => reply,
  }),

  /**
   * Looks up a generation of this owner and epoch. If the lease of the gateway that has it has run out before it ended,
   * it becomes that of the gateway that looks, which from then on is the only one that can write it. A generation that
   * ended is kept for as long as it is looked up.
   */
  look: defineScript({
    NUMBER_OF_KEYS: 3,
    SCRIPT: `
local found = redis.call('HMGET', KEYS[1], 'owner', 'epoch', 'model', 'next', 'ended', 'gateway')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then return false end
local gateway, ended, next, claim, record = found[6] or found[2], found[5] or '', found[4], '', ''
if redis.call('EXISTS', ARGV[3] .. gateway) == 0 then
  if ended == '' and ARGV[6] == '1' then
    gateway = ARGV[4]
    claim = tostring(redis.call('HINCRBY', KEYS[1], 'fence', 1))
    record = redis.call('HGET', KEYS[1], 'record') or ''
    redis.call('HSET', KEYS[1], 'gateway', gateway)
    redis.call('SET', KEYS[3], '1', 'PX', ARGV[7])
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
first = first and string.match(first[1], '^%d+') - 1 or next
return { found[3], gateway, ended, tostring(first), next, claim, record }`,
    parseCommand(
      parser: CommandParser,
      { id, owner, epoch }: Readonly<Record<'id' | 'owner' | 'epoch', string>>,
      { gateway, mayClaim, keptMs, leaseMs }: LookOptions,
    ) {
      parser.pushKeys([keys.generation(id), keys.events(id), keys.lease(gateway)]);
      parser.push(
        owner,
        epoch,
        keys.lease(''),
        gateway,
        String(keptMs),
        mayClaim ? '1' : '0',
        String(leaseMs),
      );
    },
    transformReply(reply: string[] | null): Look | null {
      if (!reply) return null;
      const [model = '', gateway = '', ended = '', first, next, claim, record] = reply;
      const own = { claim: claim || null, record: record || null };
      return { model, gateway, ended, first: Number(first), next: Number(next), ...own };
    },
  }),

  /** Removes a generation, unless another gateway has it by now. */
  remove: defineScript({
    NUMBER_OF_KEYS: 2,
    SCRIPT: `
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
return redis.call('UNLINK', KEYS[1], KEYS[2])`,
    parseCommand(parser: CommandParser, id: string, fence: string) {
      parser.pushKeys([keys.generation(id), keys.events(id)]);
      parser.push(fence);
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
