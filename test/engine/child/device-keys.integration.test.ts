import { describe, expect, it } from 'vitest';
import { DeviceKeys } from '#src/engine/child/device-keys.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { openSession, type Session } from '#src/engine/ort-session.js';
import { Graph } from '#src/onnx/graph.js';
import { hasAdapter } from '../../support/webgpu.js';

const adapter = await hasAdapter('device-keys.integration.test.ts');

const SHAPE = { layers: 2, kvHeads: 2, headDim: 4 };
const SIZE = SHAPE.kvHeads * SHAPE.headDim;

/** Keys and values, all different. */
let drawn = 0;
const rows = (count: number): Float32Array[] =>
  Array.from({ length: 2 * SHAPE.layers }, () => Float32Array.from({ length: count * SIZE }, () => ++drawn));

/** What lies on the device, brought back by a graph. */
async function reader(): Promise<Session> {
  const g = new Graph();
  const on = g.input('on', 'float32', ['positions', SHAPE.kvHeads, SHAPE.headDim]);
  g.output('back', g.op('Mul', [on, g.scalar(1)]));
  return openSession(g, { threads: 1, device: 'webgpu' });
}

describe.skipIf(!adapter)('keys and values on the device', () => {
  it('are those of the cache, whatever was written, cut and written again', async () => {
    const session = await reader();
    const keys = new DeviceKeys(SHAPE, { threads: 1 });
    const cache = new KvCache(SHAPE, 1000);
    cache.reserve(400);
    const check = async (count: number): Promise<void> => {
      const [tensors] = await keys.past([{ cache, count }]);
      for (const [i, expected] of cache.past(count).entries()) {
        const { back } = await session.run({ on: tensors![i]! });
        expect(back!.dims).toEqual(expected.dims);
        expect(back!.data).toEqual(expected.data);
      }
    };
    await check(0);
    cache.write(0, 5, rows(5));
    await check(5);
    await check(5);
    cache.write(5, 1, rows(1));
    await check(6);
    cache.write(6, 200, rows(200));
    await check(150);
    await check(206);
    // As a pass does: what lies before its window, which it then writes again.
    cache.write(100, 64, rows(64));
    await check(100);
    await check(164);
    cache.length = 3;
    await check(3);
    cache.write(3, 1, rows(1));
    await check(4);
    await check(2);
  });

  it('go when others need the room, and are brought again', async () => {
    const session = await reader();
    const bytes = 2 * SHAPE.layers * SIZE * Float32Array.BYTES_PER_ELEMENT * 101;
    const keys = new DeviceKeys(SHAPE, { threads: 1 }, 2 * bytes);
    const caches = Array.from({ length: 3 }, () => {
      const cache = new KvCache(SHAPE, 1000);
      cache.reserve(100);
      cache.write(0, 100, rows(100));
      return cache;
    });
    for (const cache of [...caches, ...caches]) {
      const [[tensor] = []] = await keys.past([{ cache, count: 100 }]);
      expect(keys.bytes).toBeLessThanOrEqual(2 * bytes);
      expect((await session.run({ on: tensor! })).back!.data).toEqual(cache.past(100)[0]!.data);
    }
  });

  it.each([2 ** 30, 0])('of several caches are there in one run, with room for %d bytes', async (limit) => {
    const session = await reader();
    const keys = new DeviceKeys(SHAPE, { threads: 1 }, limit);
    const caches = Array.from({ length: 4 }, () => new KvCache(SHAPE, 1000));
    for (const count of [1, 2, 30, 31, 400, 401]) {
      for (const cache of caches) {
        cache.reserve(count);
        cache.write(cache.length, count - cache.length, rows(count - cache.length));
      }
      const sequences = caches.map((cache) => ({ cache, count }));
      for (const [i, [tensor]] of (await keys.past(sequences)).entries()) {
        expect((await session.run({ on: tensor! })).back!.data).toEqual(caches[i]!.past(count)[0]!.data);
      }
    }
  });
});
