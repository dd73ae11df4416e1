import { describe, expect, it } from 'vitest';
import { floats, ints, openSession } from '#src/engine/session.js';
import { Graph } from '#src/onnx/graph.js';
import { lowerAttention } from '#src/onnx/lower.js';

const [HEADS, KV_HEADS, HEAD_DIM] = [4, 2, 8];

function attention(window: number): Graph {
  const g = new Graph();
  const query = g.input('query', 'float32', [1, 'rows', HEADS * HEAD_DIM]);
  const key = g.input('key', 'float32', [1, 'rows', KV_HEADS * HEAD_DIM]);
  const value = g.input('value', 'float32', [1, 'rows', KV_HEADS * HEAD_DIM]);
  const cache = [1, KV_HEADS, 'capacity', HEAD_DIM] as const;
  const pasts = [g.input('past_key', 'float32', cache), g.input('past_value', 'float32', cache)];
  const lengths = [g.input('last_key', 'int32', [1]), g.input('total_length', 'int32', [])];
  const attributes = { num_heads: HEADS, kv_num_heads: KV_HEADS, scale: 0.3, local_window_size: window };
  const results = g.node('GroupQueryAttention', [query, key, value, ...pasts, ...lengths], attributes, [
    query,
    ...pasts,
  ]);
  for (const [i, name] of ['mixed', 'present_key', 'present_value'].entries()) g.output(name, results[i]!);
  return g;
}

/** The same numbers at every call. */
function numbers(count: number, seed: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed) * 2);
}

/** The caches are both input and output, as the engine passes them. */
async function run(graph: Graph, rows: number, past: number, capacity: number) {
  const session = await openSession(graph, { threads: 1 });
  const tensor = (heads: number, seed: number) =>
    floats(numbers(rows * heads * HEAD_DIM, seed), [1, rows, heads * HEAD_DIM]);
  const cache = (seed: number) => {
    const data = numbers(KV_HEADS * capacity * HEAD_DIM, seed);
    return floats(data, [1, KV_HEADS, capacity, HEAD_DIM]);
  };
  const [pastKey, pastValue] = [cache(4), cache(5)];
  const { mixed } = await session.run(
    {
      query: tensor(HEADS, 1),
      key: tensor(KV_HEADS, 2),
      value: tensor(KV_HEADS, 3),
      past_key: pastKey,
      past_value: pastValue,
      last_key: ints([past + rows - 1], [1]),
      total_length: ints([past + rows], []),
    },
    { mixed: null, present_key: pastKey, present_value: pastValue },
  );
  return { mixed: mixed!, keys: upTo(pastKey.data, past + rows), values: upTo(pastValue.data, past + rows) };

  /** What is behind the last key is of no matter. */
  function upTo(data: unknown, total: number): number[] {
    if (!(data instanceof Float32Array)) throw new Error('a cache is fp32');
    return Array.from({ length: KV_HEADS }, (_, head) => {
      const start = head * capacity * HEAD_DIM;
      return [...data.subarray(start, start + total * HEAD_DIM)];
    }).flat();
  }
}

describe('lowerAttention', () => {
  it.each([
    { rows: 1, past: 0, capacity: 4, window: -1, what: 'the first token' },
    { rows: 5, past: 0, capacity: 5, window: -1, what: 'a prompt that fills the cache' },
    { rows: 1, past: 7, capacity: 16, window: -1, what: 'one more token' },
    { rows: 3, past: 6, capacity: 16, window: -1, what: 'several more' },
    { rows: 3, past: 6, capacity: 16, window: 4, what: 'a sliding window' },
  ])('says the same as the fused operator: $what', async ({ rows, past, capacity, window }) => {
    const graph = attention(window);
    const lowered = lowerAttention(graph);
    expect(lowered.nodes.map(({ op }) => op)).not.toContain('GroupQueryAttention');
    expect(graph.nodes.map(({ op }) => op)).toEqual(['GroupQueryAttention']);
    const expected = await run(graph, rows, past, capacity);
    const actual = await run(lowered, rows, past, capacity);
    expect(actual.mixed.dims).toEqual(expected.mixed.dims);
    const pairs = Array.from(actual.mixed.data as Float32Array, (x, i) => x - Number(expected.mixed.data[i]));
    expect(Math.max(...pairs.map(Math.abs))).toBeLessThan(1e-5);
    expect(actual.keys).toEqual(expected.keys);
    expect(actual.values).toEqual(expected.values);
  });
});
