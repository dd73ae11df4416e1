import type { ModelConfig } from '../checkpoint/config.js';
import { softCap, softCapSlope } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import type { Attention } from './decoder.js';
import {
  concatRows,
  declareKeys,
  type KeyValue,
  type RotaryInputs,
  type SequenceBatch,
  type SequenceInputs,
  splitRows,
} from './sequence-batch.js';

/** Receives the keys and values of the window, of one layer of one sequence, `[rows, kvHeads, headDim]`. */
type OnPresent = (sequence: SequenceInputs, layer: number, present: KeyValue) => void;

/** Makes them outputs of the graph, `window_key.t.layer` and `window_value.t.layer`. */
export const outputWindow =
  (g: Graph): OnPresent =>
  ({ index }, layer, { key, value }) => {
    g.output(`window_key.${index}.${layer}`, key);
    g.output(`window_value.${index}.${layer}`, value);
  };

/** Rotates the heads of a layer that does so: `[rows, heads · headDim]` → `[1, rows, heads · headDim]`. */
export function rotate(
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

/**
 * Attention made of differentiable operators, against keys and values that are read where the cache holds them. Query
 * heads that share a key head are stacked as further rows of one matrix product, so nothing is repeated.
 */
export function windowAttention(
  g: Graph,
  config: ModelConfig,
  { rotary, sequences }: SequenceBatch,
  { past, inner, masks }: WindowSequences,
  onPresent: OnPresent = () => {},
): Attention {
  const { heads, kvHeads, headDim, attentionCap: cap } = config;
  const group = heads / kvHeads;
  const scale = g.scalar(config.attentionScale);

  return (layer, projections) => {
    const query = g.op('Mul', [rotate(g, config, rotary, layer, projections.query), scale]);
    const queries = byRow(query, [kvHeads, group, headDim]);
    const keys = byRow(rotate(g, config, rotary, layer, projections.key), [kvHeads, headDim]);
    const values = byRow(projections.value, [kvHeads, headDim]);
    const mixed = sequences.map((sequence, t) => {
      const present = { key: keys[t]!, value: values[t]! };
      onPresent(sequence, layer, present);
      const before = inner[t]?.[layer];
      const recent = before ? joinPositions(g, before, present) : present;
      return attend(sequence, queries[t]!, [past[t]?.[layer], recent], masks[t]![layer]!);
    });
    return g.reshape(concatRows(g, mixed, 0), projections.query.shape);
  };

  /** `[.., rows, features]` → of each sequence `[rows, ..features]` */
  function byRow(x: Value, features: readonly number[]): Value[] {
    return splitRows(g, g.reshape(x, [x.shape.at(-2)!, ...features]), 0, sequences);
  }

  /**
   * @param query `[rows, kvHeads, group, headDim]`
   * @param past constant keys and values
   * @param recent those that follow, and may have a gradient
   * @returns `[rows, heads · headDim]`
   */
  function attend(
    sequence: SequenceInputs,
    query: Value,
    [past, recent]: readonly [KeyValue | undefined, KeyValue],
    mask: Value,
  ): Value {
    const queries = g.reshape(g.transpose(query, [1, 2, 0, 3]), [
      kvHeads,
      `queries.${sequence.index}`,
      headDim,
    ]);

    const parts = past ? [past, recent] : [recent];
    const bounded = parts.map(({ key }) => {
      const products = g.op('MatMul', [queries, acrossPositions(key)]);
      return cap === null ? products : softCap(g, products, cap);
    });
    const scores = concatRows(g, bounded, 2);
    const masked = g.op('Add', [g.reshape(scores, [kvHeads, group, sequence.rows, scores.shape[2]!]), mask]);
    const softmax = g.reshape(g.op('Softmax', [masked], { axis: -1 }), scores.shape);
    const sizes = parts.map(({ key }) => key.shape[0]!);
    const weights = sizes.length === 1 ? [softmax] : g.split(softmax, 2, sizes);
    const mixed = sum(parts.map(({ value }, i) => g.op('MatMul', [weights[i]!, ofHeads(value)])));

    // Let O = P V:  dS = P ⊙ (dP − Σ dO ⊙ O) (FlashAttention-2, arXiv 2307.08691). The operators' own rules
    // would also compute gradients of all the keys and values that are constant.
    g.defineGradient(mixed, {
      inputs: [queries, recent.key, recent.value],
      rule: (dy) => {
        const inner = g.reduce('ReduceSum', g.op('Mul', [dy, mixed]), [-1]);
        const dScores = parts.map(({ value }, i) => {
          const dWeights = g.op('MatMul', [dy, acrossPositions(value)]);
          const dBounded = g.op('Mul', [weights[i]!, g.op('Sub', [dWeights, inner])]);
          return cap === null ? dBounded : g.op('Mul', [dBounded, softCapSlope(g, bounded[i]!, cap)]);
        });
        const ofRecent = (x: Value, y: Value): Value =>
          ofHeads(g.op('MatMul', [g.transpose(x, [0, 2, 1]), y]));
        return [
          () => sum(parts.map(({ key }, i) => g.op('MatMul', [dScores[i]!, ofHeads(key)]))),
          () => ofRecent(dScores.at(-1)!, queries),
          () => ofRecent(weights.at(-1)!, dy),
        ];
      },
    });

    const ofRows = g.transpose(g.reshape(mixed, [kvHeads, group, sequence.rows, headDim]), [2, 0, 1, 3]);
    return g.reshape(ofRows, [sequence.rows, heads * headDim]);
  }

  function sum(parts: readonly Value[]): Value {
    return parts.reduce((total, part) => g.op('Add', [total, part]));
  }

  /** `[positions, kvHeads, headDim]` → `[kvHeads, positions, headDim]`, or back: onnxruntime makes it part of a product. */
  function ofHeads(x: Value): Value {
    return g.transpose(x, [1, 0, 2]);
  }

  /** `[positions, kvHeads, headDim]` → `[kvHeads, headDim, positions]` */
  function acrossPositions(x: Value): Value {
    return g.transpose(x, [1, 2, 0]);
  }
}

/** Concatenates keys and values of consecutive positions. */
export function joinPositions(g: Graph, ...parts: readonly KeyValue[]): KeyValue {
  const join = (values: readonly Value[]): Value => g.op('Concat', values, { axis: 0 });
  return { key: join(parts.map(({ key }) => key)), value: join(parts.map(({ value }) => value)) };
}

/**
 * Position of a key of zeros that no row sees, the first of those before a window: onnxruntime 1.30 dies of a division by
 * zero in a product with no key at all.
 */
export const NOWHERE = 2 ** 31 - 1;

/**
 * Inputs of {@link windowAttention} for each sequence, per layer: the same in every forward pass of a graph.
 */
export interface WindowSequences {
  /** Constants, `[1+past, kvHeads, headDim]`; nothing where all is in `inner`. */
  readonly past: readonly (readonly KeyValue[])[];
  /** Keys and values after `past`, joined with those of the rows, `[inner, kvHeads, headDim]`, or nothing. */
  readonly inner: readonly (readonly KeyValue[])[];
  /** Added to the attention scores, `[rows, 1+past+inner+rows]`. */
  readonly masks: readonly (readonly Value[])[];
}

/**
 * Keys and values before the rows of a run.
 * - `past`: constants that are read where they are. Inputs per sequence t and layer `key.t.layer` and `value.t.layer`
 *   `[1+past, kvHeads, headDim]`, the first of them a key of zeros that no row sees, and `past_positions.t` int64
 *   `[past]`: 0 to past − 1.
 * - `inner`: what is copied to be joined with that of the rows. `inner_key.t.layer`, `inner_value.t.layer`
 *   `[inner, kvHeads, headDim]`, `inner_positions.t` `[inner]`: what follows the past, up to the rows.
 *
 * For each sequence also `positions.t` int64 `[rows]`.
 */
export function declareWindows(
  g: Graph,
  config: ModelConfig,
  { sequences }: SequenceBatch,
  parts: readonly ('past' | 'inner')[],
): WindowSequences {
  const past: KeyValue[][] = [];
  const inner: KeyValue[][] = [];
  const masks: Value[][] = [];
  for (const { index } of sequences) {
    const positions = g.input(`positions.${index}`, 'int64', [`rows.${index}`]);
    const known: Value[] = [];
    if (parts.includes('past')) {
      past.push(declareKeys(g, config, `1+past.${index}`, { index }));
      known.push(g.ints([NOWHERE]), g.input(`past_positions.${index}`, 'int64', [`past.${index}`]));
    }
    if (parts.includes('inner')) {
      inner.push(declareKeys(g, config, `inner.${index}`, { index, prefix: 'inner_' }));
      known.push(g.input(`inner_positions.${index}`, 'int64', [`inner.${index}`]));
    }
    masks.push(causalMasks(g, config, positions, known));
  }
  return { past, inner, masks };
}

/**
 * Masks of all layers; layers with the same window share one.
 * @param known positions of the keys before those of the rows
 */
export function causalMasks(
  g: Graph,
  { slidingWindow }: ModelConfig,
  rowPositions: Value,
  known: readonly Value[],
): Value[] {
  const keyPositions = g.op('Concat', [...known, rowPositions], { axis: 0 });
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
  return maskOf(g, g.unsqueeze(rowPositions, [1]), g.unsqueeze(keyPositions, [0]), slidingWindow);
}

/** The same for positions `[.., rows, 1]` and `[.., 1, keys]`. */
export function maskOf(g: Graph, queries: Value, keys: Value, slidingWindow: number | null): Value {
  let visible = g.op('GreaterOrEqual', [queries, keys]);
  if (slidingWindow !== null) {
    const horizon = g.op('Sub', [queries, g.ints([slidingWindow], [])]);
    visible = g.op('And', [visible, g.op('Greater', [keys, horizon])]);
  }
  return g.op('Where', [visible, g.scalar(0), g.scalar(MASKED)]);
}
