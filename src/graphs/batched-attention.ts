import type { ModelConfig } from '../checkpoint/config.js';
import { softCap, softCapSlope } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { maskOf, rotate } from './attention.js';
import type { Attention } from './decoder.js';
import { declareRotary, type KeyValue, type RotaryInputs } from './sequence-batch.js';

/** Windows of one length W of B sequences, in the rows of a run: `[B · W]`. */
export interface WindowBatch {
  readonly ids: Value;
  readonly rotary: readonly RotaryInputs[];
  /** Keys and values before the windows, by layer, `[B, past, kvHeads, headDim]`. */
  readonly past: readonly KeyValue[];
  /** Added to the attention scores of a layer, `[B, 1, group · W, past + W]`. */
  readonly masks: readonly Value[];
}

/**
 * The inputs of a run over windows that are filled up to one length, so that one graph serves any number of sequences.
 *
 * `ids` int64 `[batch, window]`; `positions` int64 `[batch, window]`, {@link NOWHERE} for a row that fills up; `past`
 * `[2 · layers, batch, past, kvHeads, headDim]`, keys and values in turn, layer by layer; `past_positions` int64
 * `[batch, past]`, {@link NOWHERE} for a key that fills up; per rope r `cos.r`, `sin.r` `[1, batch · window, dimensions / 2]`.
 * @param resident in place of `past`: `store` `[2 · layers, slots, past, kvHeads, headDim]`, and where in it each sequence
 *   is, `slots` int64 `[batch]`
 */
export function declareBatch(g: Graph, config: ModelConfig, resident = false): WindowBatch {
  const { layers, heads, kvHeads, headDim, slidingWindow } = config;
  const ids = g.reshape(g.input('ids', 'int64', ['batch', 'window']), ['batch·window']);
  const positions = g.input('positions', 'int64', ['batch', 'window']);
  const held = [2 * layers, resident ? 'held' : 'batch', 'past', kvHeads, headDim];
  const store = g.input(resident ? 'store' : 'past', 'float32', held);
  const past = resident ? g.op('Gather', [store, g.input('slots', 'int64', ['batch'])], { axis: 1 }) : store;
  const pastPositions = g.input('past_positions', 'int64', ['batch', 'past']);
  const keyPositions = g.op('Concat', [pastPositions, positions], { axis: 1 });
  const of = (index: number): Value => g.op('Gather', [past, g.ints([index], [])], { axis: 0 });
  const group = heads / kvHeads;
  const ofSliding = new Map<number | null, Value>();
  const masks = slidingWindow.map((sliding) => {
    const known = ofSliding.get(sliding);
    if (known) return known;
    const visible = maskOf(g, g.unsqueeze(positions, [2]), g.unsqueeze(keyPositions, [1]), sliding);
    const keys = visible.shape[2]!;
    const grouped = g.expand(g.unsqueeze(visible, [1]), ['batch', group, 'window', keys]);
    const mask = g.reshape(grouped, ['batch', 1, 'queries', keys]);
    ofSliding.set(sliding, mask);
    return mask;
  });
  return {
    ids,
    rotary: declareRotary(g, config, 'batch·window'),
    past: Array.from({ length: layers }, (_, layer) => ({ key: of(2 * layer), value: of(2 * layer + 1) })),
    masks,
  };
}

/** Makes the keys and values of all layers an output of the graph, `window` `[2 · layers, batch, window, kvHeads, headDim]`. */
export function outputBatch(g: Graph, { layers }: ModelConfig) {
  const parts: Value[] = [];
  return (layer: number, { key, value }: KeyValue): void => {
    parts.push(g.unsqueeze(key, [0]), g.unsqueeze(value, [0]));
    if (layer === layers - 1) g.output('window', g.op('Concat', parts, { axis: 0 }));
  };
}

/**
 * Attention of all sequences at once, of differentiable operators: see {@link windowAttention}.
 * @param onPresent receives the keys and values of the windows, `[batch, window, kvHeads, headDim]`
 */
export function batchedAttention(
  g: Graph,
  config: ModelConfig,
  { rotary, past, masks }: WindowBatch,
  onPresent: (layer: number, present: KeyValue) => void = () => {},
): Attention {
  const { heads, kvHeads, headDim, attentionCap: cap } = config;
  const group = heads / kvHeads;
  const scale = g.scalar(config.attentionScale);
  const matMul = (a: Value, b: Value): Value => g.op('MatMul', [a, b]);
  /** `[B, positions, kvHeads, headDim]` ↔ `[B, kvHeads, positions, headDim]` */
  const ofHeads = (x: Value): Value => g.transpose(x, [0, 2, 1, 3]);
  /** `[B, positions, kvHeads, headDim]` → `[B, kvHeads, headDim, positions]` */
  const acrossPositions = (x: Value): Value => g.transpose(x, [0, 2, 3, 1]);
  const sum = (x: Value): Value => g.reduce('ReduceSum', x, [-1]);

  return (layer, projections) => {
    const byHead = (x: Value): Value => g.reshape(x, ['batch', 'window', kvHeads, headDim]);
    const rotated = g.op('Mul', [rotate(g, config, rotary, layer, projections.query), scale]);
    const ofGroups = g.reshape(rotated, ['batch', 'window', kvHeads, group, headDim]);
    const queries = g.reshape(g.transpose(ofGroups, [0, 2, 3, 1, 4]), ['batch', kvHeads, 'queries', headDim]);
    const recent: KeyValue = {
      key: byHead(rotate(g, config, rotary, layer, projections.key)),
      value: byHead(projections.value),
    };
    onPresent(layer, recent);
    const join = (part: 'key' | 'value'): Value =>
      g.op('Concat', [past[layer]![part], recent[part]], { axis: 1 });
    const keys = acrossPositions(join('key'));
    const values = ofHeads(join('value'));
    const products = matMul(queries, keys);
    const bounded = cap === null ? products : softCap(g, products, cap);
    const weights = g.op('Softmax', [g.op('Add', [bounded, masks[layer]!])], { axis: -1 });
    const mixed = matMul(weights, values);
    const uncapped = (x: Value): Value =>
      cap === null ? x : g.op('Mul', [x, softCapSlope(g, bounded, cap)]);
    const ofRecent = (x: Value): Value => g.slice(x, 3, ['past'], 'window');

    // With O = P V:  dS = P ⊙ (dP − Σ dO ⊙ O); and in the other direction dO = dP V + P dV.
    g.defineGradient(mixed, {
      inputs: [queries, recent.key, recent.value],
      rule: (dy) => {
        const inner = sum(g.op('Mul', [dy, mixed]));
        const dWeights = matMul(dy, g.transpose(values, [0, 1, 3, 2]));
        const dScores = uncapped(g.op('Mul', [weights, g.op('Sub', [dWeights, inner])]));
        const back = (x: Value, y: Value): Value =>
          ofHeads(matMul(g.transpose(ofRecent(x), [0, 1, 3, 2]), y));
        return [
          () => matMul(dScores, g.transpose(keys, [0, 1, 3, 2])),
          () => back(dScores, queries),
          () => back(weights, dy),
        ];
      },
      tangent: ([dQueries, dKey, dValue]) => {
        const [recentWeights, recentValues] = [ofRecent(weights), ofHeads(recent.value)];
        const terms: Value[] = [];
        const means: Value[] = [];
        if (dQueries) {
          const all = g.op('Mul', [weights, uncapped(matMul(dQueries, keys))]);
          means.push(sum(all));
          terms.push(matMul(all, values));
        }
        if (dKey) {
          const slope = cap === null ? null : softCapSlope(g, ofRecent(bounded), cap);
          const change = matMul(queries, acrossPositions(dKey));
          const some = g.op('Mul', [recentWeights, slope ? g.op('Mul', [change, slope]) : change]);
          means.push(sum(some));
          terms.push(matMul(some, recentValues));
        }
        if (dValue) terms.push(matMul(recentWeights, ofHeads(dValue)));
        const total = terms.reduce((a, b) => g.op('Add', [a, b]));
        if (means.length === 0) return total;
        const mean = means.reduce((a, b) => g.op('Add', [a, b]));
        return g.op('Sub', [total, g.op('Mul', [mixed, mean])]);
      },
    });

    const ofRows = g.reshape(mixed, ['batch', kvHeads, group, 'window', headDim]);
    return g.reshape(g.transpose(ofRows, [0, 3, 1, 2, 4]), projections.query.shape);
  };
}
