import { describe, expect, it } from 'vitest';
import { PrefixCache, piece, portion } from '#src/engine/child/prefix-cache.js';
import { KvCache } from '#src/engine/kv-cache.js';

const shape = { layers: 1, kvHeads: 1, headDim: 1 };
/** Two buffers of 128 positions and the key that nobody sees. */
const BYTES = 2 * 129 * 4;

const ids = (count: number, last = 0): number[] => [...Array(count - 1).keys(), last];

/** Whose key at each position is the id. */
function cacheOf(ids: readonly number[]): KvCache {
  const cache = new KvCache(shape, 1000);
  cache.reserve(ids.length);
  cache.write(0, ids.length, [Float32Array.from(ids), Float32Array.from(ids)]);
  return cache;
}

const keep = (prefixes: PrefixCache, scope: string, ids: readonly number[]): void =>
  prefixes.keep(scope, ids, cacheOf(ids));
const found = (prefixes: PrefixCache, scope: string, ids: readonly number[]): number =>
  prefixes.find(scope, ids)?.length ?? 0;

describe('PrefixCache', () => {
  it('finds the longest common beginning of the same client, in whole blocks, and leaves two tokens', () => {
    const prefixes = new PrefixCache(10 * BYTES);
    keep(prefixes, 'a', ids(50, 99));
    keep(prefixes, 'a', ids(70, 99));
    const copy = prefixes.find('a', ids(100))!;
    expect(copy.length).toBe(64);
    expect(Array.from(copy.read(0, 64)[0]!)).toEqual(ids(100).slice(0, 64));
    expect([65, 66, 81, 82].map((count) => found(prefixes, 'a', ids(count, 5)))).toEqual([48, 64, 64, 64]);
    expect([33, 34, 49, 50].map((count) => found(prefixes, 'a', ids(count, 5)))).toEqual([0, 32, 32, 48]);
    expect(found(prefixes, 'b', ids(100))).toBe(0);
    expect(found(prefixes, 'a', [1, ...ids(100)])).toBe(0);
  });

  it('keeps what is a beginning of something else once, and nothing short', () => {
    const prefixes = new PrefixCache(10 * BYTES);
    keep(prefixes, 'a', ids(31));
    expect(prefixes.bytes).toBe(0);
    keep(prefixes, 'a', ids(100, 99));
    keep(prefixes, 'a', ids(60, 59));
    expect(prefixes.bytes).toBe(BYTES);
    keep(prefixes, 'a', ids(120, 119));
    expect(prefixes.bytes).toBe(BYTES);
    expect(found(prefixes, 'a', ids(125, 124))).toBe(112);
  });

  it('forgets what was used longest ago, and what is larger than its room', () => {
    const prefixes = new PrefixCache(2 * BYTES);
    const texts = [1, 2, 3].map((first) => [first, ...ids(50)]);
    keep(prefixes, 'a', texts[0]!);
    keep(prefixes, 'b', texts[1]!);
    expect(found(prefixes, 'a', texts[0]!)).toBe(48);
    keep(prefixes, 'a', texts[2]!);
    expect(prefixes.bytes).toBe(2 * BYTES);
    expect(found(prefixes, 'a', texts[0]!)).toBe(48);
    expect(found(prefixes, 'b', texts[1]!)).toBe(0);
    keep(prefixes, 'b', ids(300));
    expect(prefixes.bytes).toBe(2 * BYTES);
    expect(found(prefixes, 'b', ids(300))).toBe(0);
    expect(found(new PrefixCache(0), 'a', ids(50))).toBe(0);
  });

  it('hands out copies', () => {
    const prefixes = new PrefixCache(10 * BYTES);
    const cache = cacheOf(ids(50));
    prefixes.keep('a', ids(50), cache);
    cache.write(0, 1, [Float32Array.of(5), Float32Array.of(5)]);
    prefixes.find('a', ids(50))!.write(0, 1, [Float32Array.of(6), Float32Array.of(6)]);
    expect(prefixes.find('a', ids(50))!.read(0, 1)[0]![0]).toBe(0);
  });
});

describe('the portion of a text that is read in a run', () => {
  it('is all or whole blocks, and never leaves one row', () => {
    const bad: number[][] = [];
    for (const position of [0, 16, 48]) {
      for (let pending = 2; pending < 100; pending += 1) {
        for (let room = 32; room < 100; room += 1) {
          const count = portion(position, pending, room);
          const rest = pending - count;
          const whole = rest === 0 || (count > 0 && count % 16 === 0 && rest > 1);
          if (!whole || count > room) bad.push([position, pending, room, count]);
        }
      }
    }
    expect(bad).toEqual([]);
    expect([0, 1, 15, 16, 31].map((room) => portion(16, 50, room))).toEqual([0, 0, 0, 16, 16]);
    expect([16, 31].map((room) => portion(16, 17, Math.min(room, 16)))).toEqual([0, 0]);
  });
});

describe('a piece of a prompt', () => {
  it('ends at a multiple of 32 wherever it begins, or waits for room', () => {
    expect([0, 16, 32, 63].map((position) => piece(position, 100, 32))).toEqual([32, 16, 32, 1]);
    expect([2, 31, 32, 33].map((pending) => piece(64, pending, 256))).toEqual([2, 31, 32, 32]);
    expect([31, 5].map((room) => piece(0, 100, room))).toEqual([0, 0]);
    expect(piece(0, 5, 5)).toBe(5);
  });
});
