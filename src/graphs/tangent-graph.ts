import { logSoftmax } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { tangents } from '../onnx/jvp.js';
import { declareWindows, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { declareSequences, type KeyValue } from './sequence-batch.js';
import { outputDerivative, outputStatistics } from './statistics-graph.js';

export interface TangentGraphOptions {
  /** How many of the most probable tokens are wanted; 5 by default. */
  readonly top?: number;
}

/**
 * The derivative of a window's log-probabilities along a direction of its embeddings, for a part of the window: where
 * windows are too long for one run. The first part comes first, and hands on how its keys and values change.
 *
 * Inputs: those of {@link declareSequences} and {@link declareWindows} for one sequence; `rows`, `targets` int64
 * `[scored]`; `alpha` `[1]`; `direction` `[rows, hidden]`; per layer `d_inner_key.0.layer`, `d_inner_value.0.layer`
 * `[inner, kvHeads, headDim]`: the derivatives of what earlier parts handed on.
 * Outputs: those of `buildScoreGraph` with its derivative but for `window_*`; and per layer `d_key.0.layer`,
 * `d_value.0.layer` `[rows, kvHeads, headDim]`.
 */
export function buildTangentGraph(source: ModelSource, { top }: TangentGraphOptions = {}): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const batch = declareSequences(g, config, 1);
  const windows = declareWindows(g, config, batch, ['past', 'inner']);
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);
  const alpha = g.input('alpha', 'float32', [1]);

  const made: KeyValue[] = [];
  const attention = windowAttention(g, config, batch, windows, (_, layer, present) => {
    made[layer] = present;
  });
  const embeddings = decoder.embed(batch.ids);
  const logits = decoder.logits(decoder.layers(embeddings, attention), rows);
  const probabilities = source.rounded
    ? g.op('Softmax', [logits], { axis: -1 })
    : outputStatistics(g, logSoftmax(g, logits), targets, top);

  const seeds = windows.inner[0]!.flatMap((inner, layer) =>
    (['key', 'value'] as const).map((name) => ({
      value: inner[name],
      tangent: g.input(`d_inner_${name}.0.${layer}`, 'float32', inner[name].shape),
    })),
  );
  seeds.push({ value: embeddings, tangent: g.input('direction', 'float32', embeddings.shape) });
  const kept = made.flatMap(({ key, value }) => [key, value]);
  const [slope, ...changes] = tangents(g, seeds, [logits, ...kept]);
  outputDerivative(g, probabilities, { slope: slope!, alpha }, targets);
  for (const [i, change] of changes.entries()) {
    g.output(`d_${i % 2 === 0 ? 'key' : 'value'}.0.${i >> 1}`, change);
  }
  return g;
}
