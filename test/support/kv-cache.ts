import type { KvCache } from '#src/engine/kv-cache.js';

/** What a cache holds, without the room that it has beyond. */
export const keysAndValues = (cache: KvCache): number[] =>
  cache.tensors(0, cache.length).flatMap(({ data }) => Array.from(data, Number));
