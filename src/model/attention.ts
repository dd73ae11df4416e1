import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';
import type { ModelConfig } from './config.js';
import type { Attention } from './decoder.js';

/** Keys (rotated) and values of one layer. */
export interface KeyValue {
  readonly key: Value;
  readonly value: Value;
}

export interface RotaryInputs {
  /** `[batch, window, headDim / 2]` */
  readonly cos: Value;
  readonly sin: Value;
}

/** Rotates heads: `[rows, heads · headDim]` → `[batch, window, heads · headDim]`. */
function rotate(g: Graph, x: Value, heads: number, { cos, sin }: RotaryInputs): Value {
  const batched = g.reshape(x, ['batch', 'window', x.shape[1]!]);
  return g.op('RotaryEmbedding', [batched, cos, sin], { num_heads: heads });
}

export interface WindowAttentionInputs {
  readonly rotary: RotaryInputs;
  /** Keys and values before the window, per layer, `[batch, past, kvHeads · headDim]`. */
  readonly past: readonly KeyValue[];
  /** What is added to the attention scores, per layer, `[batch, 1, 1, window, past+window]`: {@link causalMask}. */
  readonly masks: readonly Value[];
}

/**
 * Attention made of differentiable operators. Query heads that share a key head are stacked as further rows of one
 * matrix product, so nothing is repeated.
 * @param present receives the keys and values of the window, per layer, `[batch, window, kvHeads · headDim]`
 */
export function windowAttention(
  g: Graph,
  { heads, kvHeads, headDim }: ModelConfig,
  { rotary, past, masks }: WindowAttentionInputs,
  present: KeyValue[],
): Attention {
  const group = heads / kvHeads;
  const scale = g.scalar(1 / Math.sqrt(headDim));

  const byKeyHead = (x: Value, perm: readonly number[]): Value =>
    g.transpose(g.reshape(x, ['batch', TOTAL, kvHeads, headDim]), perm);

  return (layer, projections) => {
    const key = rotate(g, projections.key, kvHeads, rotary);
    const value = g.reshape(projections.value, ['batch', 'window', kvHeads * headDim]);
    present[layer] = { key, value };

    const query = g.op('Mul', [rotate(g, projections.query, heads, rotary), scale]);
    const grouped = g.transpose(
      g.reshape(query, ['batch', 'window', kvHeads, group, headDim]),
      [0, 2, 3, 1, 4],
    );
    const queries = g.reshape(grouped, ['batch', kvHeads, 'queries', headDim]);

    const { key: pastKey, value: pastValue } = past[layer]!;
    const keys = byKeyHead(g.op('Concat', [pastKey, key], { axis: 1 }), [0, 2, 3, 1]);
    const values = byKeyHead(g.op('Concat', [pastValue, value], { axis: 1 }), [0, 2, 1, 3]);

    const scores = g.reshape(g.op('MatMul', [queries, keys]), ['batch', kvHeads, group, 'window', TOTAL]);
    const weights = g.op('Softmax', [g.op('Add', [scores, masks[layer]!])], { axis: -1 });
    const mixed = g.op('MatMul', [g.reshape(weights, ['batch', kvHeads, 'queries', TOTAL]), values]);

    const byPosition = g.transpose(
      g.reshape(mixed, ['batch', kvHeads, group, 'window', headDim]),
      [0, 3, 1, 2, 4],
    );
    return g.reshape(byPosition, ['rows', heads * headDim]);
  };
}

/** The number of keys: what is before the window and the window. Named as `Concat` names it. */
const TOTAL = 'past+window';

/** Enough to make exp vanish, small enough that a row with no key at all stays finite. */
const MASKED = -1e30;

/**
 * 0 where a query may see a key, {@link MASKED} elsewhere, from positions alone: padding is a key whose position
 * lies beyond every query.
 * @param slidingWindow how many keys a query sees, itself included; `null` for all before it
 * @returns `[batch, 1, 1, window, past+window]`
 */
export function causalMask(
  g: Graph,
  positions: Value,
  pastPositions: Value,
  slidingWindow: number | null,
): Value {
  const keys = g.unsqueeze(g.op('Concat', [pastPositions, positions], { axis: 1 }), [1, 2, 3]);
  const queries = g.unsqueeze(positions, [1, 2, 4]);
  let visible = g.op('GreaterOrEqual', [queries, keys]);
  if (slidingWindow !== null) {
    const horizon = g.op('Sub', [queries, g.ints([slidingWindow], [])]);
    visible = g.op('And', [visible, g.op('Greater', [keys, horizon])]);
  }
  return g.op('Where', [visible, g.scalar(0), g.scalar(MASKED)]);
}

export interface CachedAttentionInputs {
  readonly rotary: RotaryInputs;
  /** Per layer, `[batch, kvHeads, capacity, headDim]`: written in place when the caller passes it as output too. */
  readonly cache: readonly KeyValue[];
  /** Number of keys minus one, int32 `[batch]`. */
  readonly lastKey: Value;
  /** The largest number of keys in the batch, int32 scalar. */
  readonly totalLength: Value;
}

/** Attention as one fused operator, for decoding. */
export function cachedAttention(
  g: Graph,
  { heads, kvHeads, headDim, slidingWindow }: ModelConfig,
  { rotary, cache, lastKey, totalLength }: CachedAttentionInputs,
  present: KeyValue[],
): Attention {
  return (layer, projections) => {
    const past = cache[layer]!;
    const query = rotate(g, projections.query, heads, rotary);
    const [mixed, key, value] = g.node(
      'GroupQueryAttention',
      [
        query,
        rotate(g, projections.key, kvHeads, rotary),
        g.reshape(projections.value, ['batch', 'window', kvHeads * headDim]),
        past.key,
        past.value,
        lastKey,
        totalLength,
      ],
      {
        num_heads: heads,
        kv_num_heads: kvHeads,
        scale: 1 / Math.sqrt(headDim),
        local_window_size: slidingWindow[layer] ?? -1,
      },
      [query, past.key, past.value],
    );
    present[layer] = { key: key!, value: value! };
    return g.reshape(mixed!, ['rows', heads * headDim]);
  };
}
