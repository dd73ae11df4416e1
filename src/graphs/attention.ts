import type { ModelConfig } from '../checkpoint/config.js';
import { softCap, softCapSlope } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Dim, Shape, Value } from '../onnx/types.js';
import type { Attention } from './decoder.js';
import {
  concatRows,
  type KeyValue,
  type RotaryInputs,
  type SequenceBatch,
  type SequenceInputs,
  splitRows,
} from './sequence-batch.js';

/** Receives the keys and values of the window, of one layer of one sequence, `[1, kvHeads, rows, headDim]`. */
type OnPresent = (sequence: SequenceInputs, layer: number, present: KeyValue) => void;

/** Makes them outputs of the graph, `window_key.t.layer` and `window_value.t.layer`. */
export const outputWindow =
  (g: Graph): OnPresent =>
  ({ index }, layer, { key, value }) => {
    g.output(`window_key.${index}.${layer}`, key);
    g.output(`window_value.${index}.${layer}`, value);
  };

/** Rotates the heads of a layer that does so: `[rows, heads · headDim]` → `[1, rows, heads · headDim]`. */
function rotate(
  g: Graph,
  config: ModelConfig,
  rotary: readonly RotaryInputs[],
  layer: number,
  x: Value,
): Value {
  const rope = config.layerRopes[layer] ?? null;
  if (rope === null) return batched(g, x);
  const { cos, sin } = rotary[rope]!;
  const { dimensions } = config.ropes[rope]!;
  return g.op('RotaryEmbedding', [batched(g, x), cos, sin], {
    num_heads: Number(x.shape[1]) / config.headDim,
    ...(dimensions !== config.headDim && { rotary_embedding_dim: dimensions }),
  });
}

const batched = (g: Graph, x: Value): Value => g.reshape(x, [1, ...x.shape]);

/** `[1, rows, kvHeads · headDim]` → `[1, kvHeads, rows, headDim]` */
function byHead(g: Graph, { kvHeads, headDim }: ModelConfig, x: Value): Value {
  return g.transpose(g.reshape(x, [1, x.shape[1]!, kvHeads, headDim]), [0, 2, 1, 3]);
}

/**
 * Attention made of differentiable operators, against a clean cache that stays as it is. Query heads that share a key
 * head are stacked as further rows of one matrix product, so nothing is repeated.
 */
export function windowAttention(
  g: Graph,
  config: ModelConfig,
  { rotary, sequences }: SequenceBatch,
  { past, inner, masks }: WindowSequences,
  onPresent: OnPresent = () => {},
): Attention {
  const { heads, kvHeads, headDim, attentionCap: cap } = config;
  const scale = g.scalar(config.attentionScale);

  return (layer, projections) => {
    const query = g.op('Mul', [rotate(g, config, rotary, layer, projections.query), scale]);
    const queries = splitRows(g, query, 1, sequences);
    const keys = splitRows(g, rotate(g, config, rotary, layer, projections.key), 1, sequences);
    const values = splitRows(g, batched(g, projections.value), 1, sequences);
    const mixed = sequences.map((sequence, t) => {
      const present = { key: byHead(g, config, keys[t]!), value: byHead(g, config, values[t]!) };
      onPresent(sequence, layer, present);
      const before = inner[t]?.[layer];
      const recent = before ? joined(before, present) : present;
      return attend(sequence, queries[t]!, past[t]![layer]!, recent, masks[t]![layer]!);
    });
    return g.reshape(concatRows(g, mixed, 1), projections.query.shape);
  };

  /** Exchanges the last two axes: onnxruntime makes it part of the product. */
  function swap(x: Value): Value {
    return g.transpose(x, [0, 1, 3, 2]);
  }

  function joined(a: KeyValue, b: KeyValue): KeyValue {
    const join = (x: Value, y: Value): Value => g.op('Concat', [x, y], { axis: 2 });
    return { key: join(a.key, b.key), value: join(a.value, b.value) };
  }

  /** @param recent keys and values that may have a gradient, the last of all */
  function attend(
    sequence: SequenceInputs,
    query: Value,
    past: KeyValue,
    recent: KeyValue,
    mask: Value,
  ): Value {
    const group = heads / kvHeads;
    const grouped = g.transpose(
      g.reshape(query, [1, sequence.rows, kvHeads, group, headDim]),
      [0, 2, 3, 1, 4],
    );
    const queries = g.reshape(grouped, [1, kvHeads, `queries.${sequence.index}`, headDim]);
    const { key: keys, value: values } = joined(past, recent);
    const total = keys.shape[2]!;

    const products = g.op('MatMul', [queries, swap(keys)]);
    const bounded = cap === null ? products : softCap(g, products, cap);
    const scores = g.reshape(bounded, [1, kvHeads, group, sequence.rows, total]);
    const softmax = g.op('Softmax', [g.op('Add', [scores, mask])], { axis: -1 });
    const weights = g.reshape(softmax, products.shape);
    const mixed = g.op('MatMul', [weights, values]);

    // With O = P V:  dS = P ⊙ (dP − Σ dO ⊙ O) (FlashAttention-2, arXiv 2307.08691). The operators' own rules would
    // also compute gradients of all the keys and values that are constant.
    g.defineGradient(mixed, {
      inputs: [queries, recent.key, recent.value],
      rule: (dy) => {
        const inner = g.reduce('ReduceSum', g.op('Mul', [dy, mixed]), [-1]);
        const dWeights = g.op('MatMul', [dy, swap(values)]);
        const dBounded = g.op('Mul', [weights, g.op('Sub', [dWeights, inner])]);
        const dScores = cap === null ? dBounded : g.op('Mul', [dBounded, softCapSlope(g, bounded, cap)]);
        const ofRecent = (x: Value): Value => swap(g.slice(x, 3, [past.key.shape[2]!], recent.key.shape[2]!));
        return [
          () => g.op('MatMul', [dScores, keys]),
          () => g.op('MatMul', [ofRecent(dScores), queries]),
          () => g.op('MatMul', [ofRecent(weights), dy]),
        ];
      },
    });

    const byPosition = g.transpose(
      g.reshape(mixed, [1, kvHeads, group, sequence.rows, headDim]),
      [0, 3, 1, 2, 4],
    );
    return g.reshape(byPosition, [1, sequence.rows, heads * headDim]);
  }
}

/** What {@link windowAttention} needs of each sequence, per layer: the same in every forward pass of a graph. */
export interface WindowSequences {
  /** Keys and values before the window, `[1, kvHeads, past, headDim]`: constants. */
  readonly past: readonly (readonly KeyValue[])[];
  /** Of an earlier part of the window, `[1, kvHeads, inner, headDim]`; nothing where a run has the whole window. */
  readonly inner: readonly (readonly KeyValue[])[];
  /** What is added to the attention scores, `[1, 1, 1, rows, past+inner+rows]`. */
  readonly masks: readonly (readonly Value[])[];
}

/**
 * Cuts the cache of every sequence to what lies before the rows of the run.
 *
 * Inputs per sequence t: `positions.t` int64 `[rows]`, `past_positions.t` int64 `[past]`: 0 to past − 1; and with parts
 * `inner_positions.t` int64 `[inner]`, what follows them up to the rows of the run.
 * @param parts whether a run may have a later part of a window whose earlier part is in the cache
 */
export function declareWindows(
  g: Graph,
  config: ModelConfig,
  { sequences }: SequenceBatch,
  { parts }: { readonly parts: boolean } = { parts: false },
): WindowSequences {
  const past: KeyValue[][] = [];
  const inner: KeyValue[][] = [];
  const masks: Value[][] = [];
  for (const { index, rows, cache } of sequences) {
    const positions = g.input(`positions.${index}`, 'int64', [rows]);
    const cut = (from: Shape, size: Dim): KeyValue[] =>
      cache.map(({ key, value }) => ({
        key: g.slice(key, 2, from, size),
        value: g.slice(value, 2, from, size),
      }));
    const before = `past.${index}`;
    const known = [g.input(`past_positions.${index}`, 'int64', [before])];
    past.push(cut([0], before));
    if (parts) {
      known.push(g.input(`inner_positions.${index}`, 'int64', [`inner.${index}`]));
      inner.push(cut([before], `inner.${index}`));
    }
    const keys = g.op('Concat', [...known, positions], { axis: 0 });
    masks.push(causalMasks(g, config, positions, keys));
  }
  return { past, inner, masks };
}

/** Of every layer; those that see as far share one. */
export function causalMasks(
  g: Graph,
  { slidingWindow }: ModelConfig,
  rowPositions: Value,
  keyPositions: Value,
): Value[] {
  const ofSliding = new Map<number | null, Value>();
  return slidingWindow.map((sliding) => {
    const mask = ofSliding.get(sliding) ?? causalMask(g, rowPositions, keyPositions, sliding);
    ofSliding.set(sliding, mask);
    return mask;
  });
}

/** Enough to make exp vanish, small enough that a row with no key at all stays finite. */
const MASKED = -1e30;

/**
 * 0 where a query may see a key, {@link MASKED} elsewhere.
 * @param slidingWindow how many keys a query sees, itself included; `null` for all before it
 */
function causalMask(g: Graph, rowPositions: Value, keyPositions: Value, slidingWindow: number | null): Value {
  const keys = g.unsqueeze(keyPositions, [0, 1, 2, 3]);
  const queries = g.unsqueeze(rowPositions, [0, 1, 2, 4]);
  let visible = g.op('GreaterOrEqual', [queries, keys]);
  if (slidingWindow !== null) {
    const horizon = g.op('Sub', [queries, g.ints([slidingWindow], [])]);
    visible = g.op('And', [visible, g.op('Greater', [keys, horizon])]);
  }
  return g.op('Where', [visible, g.scalar(0), g.scalar(MASKED)]);
}

/**
 * Attention as one fused operator per sequence, against a cache that stays as it is. It has no gradient.
 *
 * The operator can extend the cache in place, but only as an output of the graph, and onnxruntime-node copies every
 * output in full. So it works on copies of its own, and the caller adds the new rows, see {@link outputWindow}.
 *
 * Inputs per sequence t: `last_key.t` int32 `[1]`, the number of keys minus one, and `total_length.t` int32 `[]`, the
 * number of keys.
 */
export function fusedAttention(
  g: Graph,
  config: ModelConfig,
  { rotary, sequences }: SequenceBatch,
  onPresent: OnPresent = () => {},
): Attention {
  const { heads, kvHeads, attentionScale, attentionCap, slidingWindow } = config;
  const lengths = sequences.map(({ index }) => ({
    lastKey: g.input(`last_key.${index}`, 'int32', [1]),
    total: g.input(`total_length.${index}`, 'int32', []),
  }));
  return (layer, projections) => {
    const queries = splitRows(g, rotate(g, config, rotary, layer, projections.query), 1, sequences);
    const keys = splitRows(g, rotate(g, config, rotary, layer, projections.key), 1, sequences);
    const values = splitRows(g, batched(g, projections.value), 1, sequences);
    const mixed = sequences.map((sequence, t) => {
      const past = sequence.cache[layer]!;
      const [result] = g.node(
        'GroupQueryAttention',
        [queries[t]!, keys[t]!, values[t]!, past.key, past.value, lengths[t]!.lastKey, lengths[t]!.total],
        {
          num_heads: heads,
          kv_num_heads: kvHeads,
          scale: attentionScale,
          local_window_size: slidingWindow[layer] ?? -1,
          ...(attentionCap !== null && { softcap: attentionCap }),
        },
        [queries[t]!, past.key, past.value],
      );
      onPresent(sequence, layer, { key: byHead(g, config, keys[t]!), value: byHead(g, config, values[t]!) });
      return result!;
    });
    return g.reshape(concatRows(g, mixed, 1), projections.query.shape);
  };
}
