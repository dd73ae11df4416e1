import type { KvCache } from '#src/engine/kv-cache.js';

/** Contents of a cache, without its spare room. */
export const keysAndValues = (cache: KvCache): number[] =>
  cache.tensors(0, cache.length).flatMap(({ data }) => Array.from(data, Number));
