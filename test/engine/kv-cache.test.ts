import { describe, expect, it } from 'vitest';
import { DecodeCache, ScoreCache } from '#src/engine/kv-cache.js';

const SHAPE = { layers: 1, kvHeads: 2, headDim: 2 };

describe('DecodeCache', () => {
  it('keeps every head in its place when it grows', () => {
    const cache = new DecodeCache(SHAPE, 1000);
    cache.reserve(3);
    const before = cache.tensors().inputs['key.0']!;
    const capacity = before.dims[2]!;
    const data = before.data as Float32Array;
    for (let head = 0; head < 2; head++)
      for (let i = 0; i < 6; i++) data[head * capacity * 2 + i] = 10 * head + i;
    cache.length = 3;
    cache.reserve(capacity + 1);
    const after = cache.tensors().inputs['key.0']!;
    expect(after.dims).toEqual([1, 2, 2 * capacity, 2]);
    for (const head of [0, 1]) {
      const start = head * 2 * capacity * 2;
      expect([...after.data.slice(start, start + 7)]).toEqual(
        [0, 1, 2, 3, 4, 5].map((i) => 10 * head + i).concat(0),
      );
    }
  });

  it('is written in place: inputs and outputs are the same buffers', () => {
    const cache = new DecodeCache(SHAPE, 1000);
    cache.reserve(1);
    const { inputs, outputs } = cache.tensors();
    expect(outputs['present_value.0']).toBe(inputs['value.0']);
  });

  it('refuses more than its limit', () => {
    expect(() => new DecodeCache(SHAPE, 10).reserve(11)).toThrow('limit of 10');
  });
});

describe('ScoreCache', () => {
  const rows = (...values: number[]) => {
    const data = Float32Array.from(values.flatMap((value) => [value, value, value, value]));
    return [{ key: data, value: data.map((x) => -x) }];
  };

  it('appends, is cut, and appends again', () => {
    const cache = new ScoreCache(SHAPE, 1000);
    cache.append(3, rows(1, 2, 3));
    cache.cut(1);
    cache.append(1, rows(9));
    expect(cache.length).toBe(2);
    expect([...cache.prefix(0, 2).key]).toEqual([1, 1, 1, 1, 9, 9, 9, 9]);
    expect([...cache.prefix(0, 1).value]).toEqual([-1, -1, -1, -1]);
  });

  it('keeps its content when it grows', () => {
    const cache = new ScoreCache(SHAPE, 1000);
    for (let i = 0; i < 300; i++) cache.append(1, rows(i));
    expect(cache.prefix(0, 300).key.filter((_, i) => i % 4 === 0)).toEqual(
      Float32Array.from({ length: 300 }, (_, i) => i),
    );
  });
});
