import { logSoftmax, pick } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { tangents } from '../onnx/jvp.js';
import { declareWindows, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { declareKeys, declareSequences, type KeyValue } from './sequence-batch.js';
import { outputFirstOrderRival, outputStatistics } from './token-statistics.js';

export interface TangentGraphOptions {
  /** Whether statistics of the clean rows and, for a step of −alpha along the change, the rival are wanted too. */
  readonly rival: boolean;
  /** How many of the most probable tokens are then reported; 5 by default. */
  readonly top?: number;
}

/**
 * Directional derivatives of one sequence's log-probabilities along a change of all its embeddings, forward mode. What the
 * change does to keys and values is carried in a cache of its own, so a sequence may come in parts.
 *
 * Inputs: those of {@link declareSequences} and {@link declareWindows} for one sequence; `noise` `[rows, hidden]`, the change;
 * `rows`, `targets` int64 `[scored]`; per layer `tangent_key.0.layer`, `tangent_value.0.layer`
 * `[1+past, kvHeads, headDim]`.
 * Outputs: `derivative` `[scored]`, d log P(target); with `rival`, which takes `alpha` `[1]` in, those of
 * {@link outputStatistics} and {@link outputFirstOrderRival}; and the tangents of the window's keys and values,
 * `window_tangent_key.0.layer`, `window_tangent_value.0.layer` `[rows, kvHeads, headDim]`.
 */
export function buildTangentGraph(source: ModelSource, { rival, top }: TangentGraphOptions): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const batch = declareSequences(g, config, 1);
  const windows = declareWindows(g, config, batch, ['past']);
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);

  const embeddings = decoder.embed(batch.ids);
  const noise = g.input('noise', 'float32', embeddings.shape);
  const before = declareKeys(g, config, '1+past.0', { prefix: 'tangent_', index: 0 });
  const seeds = [
    { value: embeddings, tangent: noise },
    ...windows.past[0]!.flatMap(({ key, value }, layer) => [
      { value: key, tangent: before[layer]!.key },
      { value, tangent: before[layer]!.value },
    ]),
  ];

  const present: KeyValue[] = [];
  const attention = windowAttention(g, config, batch, windows, (_, layer, made) => {
    present[layer] = made;
  });
  const logprobs = logSoftmax(g, decoder.logits(decoder.layers(embeddings, attention), rows));
  const made = present.flatMap(({ key, value }) => [key, value]);
  const [slope, ...changes] = tangents(g, seeds, [logprobs, ...made]);
  g.output('derivative', pick(g, slope!, targets));
  if (rival) {
    const probabilities = outputStatistics(g, logprobs, pick(g, logprobs, targets), targets, top);
    const alpha = g.input('alpha', 'float32', [1]);
    outputFirstOrderRival(g, probabilities, { slope: slope!, alpha }, targets);
  }
  for (const [i, change] of changes.entries()) {
    g.output(`window_tangent_${i % 2 === 0 ? 'key' : 'value'}.0.${i >> 1}`, change);
  }
  return g;
}
