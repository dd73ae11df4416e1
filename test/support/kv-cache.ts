import type { KvCache } from '#src/engine/kv-cache.js';

/** What a cache holds, without the room that it has beyond. */
export function keysAndValues(cache: KvCache): number[] {
  return cache.tensors().flatMap(({ data, dims }) => {
    const [, heads = 0, capacity = 0, size = 0] = dims;
    const starts = Array.from({ length: heads }, (_, head) => head * capacity * size);
    return starts.flatMap((start) => Array.from(data.slice(start, start + cache.length * size), Number));
  });
}
