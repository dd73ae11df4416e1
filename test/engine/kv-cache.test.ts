import { describe, expect, it } from 'vitest';
import { KvCache } from '#src/engine/kv-cache.js';

const SHAPE = { layers: 1, kvHeads: 2, headDim: 2 };

/** Keys and values `[count, 2, 2]` that tell head and position: 10 · head + position. */
function part(from: number, count: number): Float32Array[] {
  const keys = Array.from({ length: count }, (_, i) =>
    [0, 1].flatMap((head) => [10 * head + from + i, 10 * head + from + i]),
  ).flat();
  return [Float32Array.from(keys), Float32Array.from(keys, (x) => -x)];
}

function read(cache: KvCache, tensor: number, head: number): number[] {
  const { data } = cache.tensors(0, cache.length)[tensor]!;
  return Array.from(data, Number).filter((_, i) => i % 4 === 2 * head);
}

describe('KvCache', () => {
  it('appends, is cut, and appends again, every head in its place', () => {
    const cache = new KvCache(SHAPE, 1000);
    cache.reserve(4);
    cache.write(0, 3, part(0, 3));
    cache.length = 1;
    cache.write(1, 2, part(7, 2));
    expect(cache.length).toBe(3);
    expect(read(cache, 0, 0)).toEqual([0, 7, 8]);
    expect(read(cache, 0, 1)).toEqual([10, 17, 18]);
    expect(read(cache, 1, 1)).toEqual([-10, -17, -18]);
  });

  it('hands out any of its positions, without a copy', () => {
    const cache = new KvCache(SHAPE, 1000);
    cache.reserve(4);
    cache.write(0, 4, part(0, 4));
    const [keys] = cache.tensors(1, 2);
    expect(keys!.dims).toEqual([2, 2, 2]);
    expect(Array.from(keys!.data, Number)).toEqual([1, 1, 11, 11, 2, 2, 12, 12]);
    cache.write(2, 1, part(9, 1));
    expect(Array.from(keys!.data, Number)).toEqual([1, 1, 11, 11, 9, 9, 19, 19]);
  });

  it('has a key of zeros before its positions, from the beginning', () => {
    const cache = new KvCache(SHAPE, 1000);
    expect(Array.from(cache.past(0)[0]!.data, Number)).toEqual([0, 0, 0, 0]);
    expect(cache.fork(5).length).toBe(0);
    cache.reserve(2);
    cache.write(0, 2, part(0, 2));
    const [keys] = cache.past(1);
    expect(keys!.dims).toEqual([2, 2, 2]);
    expect(Array.from(keys!.data, Number)).toEqual([0, 0, 0, 0, 0, 0, 10, 10]);
  });

  it('keeps its content when it grows', () => {
    const cache = new KvCache(SHAPE, 1000);
    cache.reserve(3);
    cache.write(0, 3, part(0, 3));
    cache.reserve(500);
    expect(cache.length).toBe(3);
    expect(read(cache, 0, 0)).toEqual([0, 1, 2]);
    expect(read(cache, 1, 1)).toEqual([-10, -11, -12]);
  });

  it('refuses more than its limit', () => {
    expect(() => new KvCache(SHAPE, 10).reserve(11)).toThrow('limit of 10');
  });
});
