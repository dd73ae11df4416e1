import { beforeAll, describe, expect, it } from 'vitest';
import { BoundSession } from '#src/engine/cuda/bound-session.js';
import { OrtLibrary } from '#src/engine/cuda/ort-library.js';
import { type Placed, ResidentKeys } from '#src/engine/cuda/resident-keys.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { Graph } from '#src/onnx/graph.js';

const SHAPE = { layers: 2, kvHeads: 2, headDim: 4 };
const OPTIONS = { threads: 1, device: 'cpu' } as const;
const SIZE = SHAPE.kvHeads * SHAPE.headDim;

/** A cache whose numbers tell the text, the part and the position. */
function cacheOf(text: number, length: number): KvCache {
  const cache = new KvCache(SHAPE, 4096);
  write(cache, text, 0, length);
  return cache;
}

function write(cache: KvCache, text: number, from: number, length: number): void {
  cache.reserve(from + length);
  const part = (i: number) =>
    Float32Array.from(
      { length: length * SIZE },
      (_, j) => text * 1000 + i * 100 + from + Math.floor(j / SIZE),
    );
  cache.write(
    from,
    length,
    Array.from({ length: 2 * SHAPE.layers }, (_, i) => part(i)),
  );
}

describe('keys and values on the device (here: the CPU provider)', () => {
  let library: OrtLibrary;
  let reader: BoundSession;
  beforeAll(async () => {
    library = (await OrtLibrary.load())!;
    const g = new Graph();
    const store = g.input('store', 'float32', [4, 'slots', 'past', SHAPE.kvHeads, SHAPE.headDim]);
    g.output('kept', g.op('Gather', [store, g.input('slots', 'int64', ['batch'])], { axis: 1 }));
    reader = new BoundSession(library, g, OPTIONS);
  });

  /** What the store has of each sequence. */
  function read({ store, slots }: Placed): (text: number, part: number, position: number) => number {
    const dims = [4, slots.length, store.capacity, SHAPE.kvHeads, SHAPE.headDim];
    const data = new Float32Array(dims.reduce((a, b) => a * b));
    const given = library.tensor(BigInt64Array.from(slots, BigInt), [slots.length]);
    const kept = library.tensor(data, dims);
    const binding = reader.bind({ store: store.tensor, slots: given }, { kept });
    binding.run();
    binding.release();
    return (text, part, position) => data[((part * slots.length + text) * store.capacity + position) * SIZE]!;
  }

  /** Whether the store has the first positions of all texts. */
  function expectHeld(
    placed: Placed,
    texts: readonly { readonly text: number; readonly count: number }[],
  ): void {
    const at = read(placed);
    for (const [i, { text, count }] of texts.entries())
      for (const part of [0, 3])
        for (const position of [0, count - 1])
          expect(at(i, part, position), `text ${text}`).toBe(text * 1000 + part * 100 + position);
  }

  it('are those of the caches, and grow with them', () => {
    const keys = new ResidentKeys(library, SHAPE, OPTIONS);
    const [a, b] = [cacheOf(1, 20), cacheOf(2, 40)];
    const first = keys.place([
      { cache: a, count: 20 },
      { cache: b, count: 33 },
    ]);
    expect(first.store.capacity).toBe(512);
    expectHeld(first, [
      { text: 1, count: 20 },
      { text: 2, count: 33 },
    ]);
    write(a, 1, 20, 600);
    const second = keys.place([
      { cache: b, count: 40 },
      { cache: a, count: 620 },
    ]);
    expect(second.store.capacity).toBe(1024);
    expectHeld(second, [
      { text: 2, count: 40 },
      { text: 1, count: 620 },
    ]);
    expect(keys.place([{ cache: b, count: 40 }]).store).toBe(second.store);
  });

  it('follow a cache that is cut and goes on otherwise', () => {
    const keys = new ResidentKeys(library, SHAPE, OPTIONS);
    const cache = cacheOf(1, 30);
    keys.place([{ cache, count: 30 }]);
    cache.length = 10;
    write(cache, 7, 10, 20);
    const at = read(keys.place([{ cache, count: 30 }]));
    expect([at(0, 0, 9), at(0, 0, 10), at(0, 3, 29)]).toEqual([1009, 7010, 7329]);
  });

  it('give way to others, the ones used longest ago first, but never in the same run', () => {
    const keys = new ResidentKeys(library, SHAPE, OPTIONS, { capacity: 128, slots: 2 });
    const caches = [1, 2, 3].map((text) => cacheOf(text, 10 * text));
    const place = (...texts: number[]) => {
      const placed = keys.place(texts.map((text) => ({ cache: caches[text - 1]!, count: 10 * text })));
      expectHeld(
        placed,
        texts.map((text) => ({ text, count: 10 * text })),
      );
      return placed.slots;
    };
    const [one, two] = place(1, 2);
    expect(place(3)).toEqual([one]);
    expect(place(2)).toEqual([two]);
    expect(place(3, 1)).toEqual([one, two]);
    expect(place(1, 2, 3)).toHaveLength(3);
  });

  it('leave nothing in a slot that would spoil the text of another', () => {
    const keys = new ResidentKeys(library, SHAPE, OPTIONS, { capacity: 128, slots: 1 });
    const broken = cacheOf(1, 20);
    broken.write(
      10,
      1,
      Array.from({ length: 4 }, () => new Float32Array(SIZE).fill(Number.NaN)),
    );
    broken.length = 20;
    keys.place([{ cache: broken, count: 20 }]);
    const at = read(keys.place([{ cache: cacheOf(2, 5), count: 5 }]));
    expect([at(0, 0, 4), at(0, 0, 10), at(0, 0, 127)]).toEqual([2004, 0, 0]);
  });
});
