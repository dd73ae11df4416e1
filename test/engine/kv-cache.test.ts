import { describe, expect, it } from 'vitest';
import { KvCache } from '#src/engine/kv-cache.js';

const SHAPE = { layers: 1, kvHeads: 2, headDim: 2 };

/** Keys and values `[1, 2, count, 2]` that tell head and position: 10 · head + position. */
function part(from: number, count: number): Float32Array[] {
  const keys = [0, 1].flatMap((head) =>
    Array.from({ length: count }, (_, i) => [10 * head + from + i, 10 * head + from + i]).flat(),
  );
  return [Float32Array.from(keys), Float32Array.from(keys, (x) => -x)];
}

function read(cache: KvCache, tensor: number, head: number): number[] {
  const { data, dims } = cache.tensors()[tensor]!;
  const start = head * dims[2]! * 2;
  return Array.from(data.slice(start, start + 2 * cache.length), Number).filter((_, i) => i % 2 === 0);
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

  it('keeps its content when it grows', () => {
    const cache = new KvCache(SHAPE, 1000);
    cache.reserve(3);
    cache.write(0, 3, part(0, 3));
    const capacity = cache.tensors()[0]!.dims[2]!;
    cache.reserve(capacity + 1);
    expect(cache.tensors()[0]!.dims).toEqual([1, 2, 2 * capacity, 2]);
    expect(read(cache, 0, 0)).toEqual([0, 1, 2]);
    expect(read(cache, 1, 1)).toEqual([-10, -11, -12]);
  });

  it('refuses more than its limit', () => {
    expect(() => new KvCache(SHAPE, 10).reserve(11)).toThrow('limit of 10');
  });
});
