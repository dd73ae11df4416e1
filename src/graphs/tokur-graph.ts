import { logSoftmax } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { declareWindows, outputWindow, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { type LayerDirections, projectionNoise } from './projection-noise.js';
import { declareSequences } from './sequence-batch.js';
import { tokurStatistics } from './tokur-statistics.js';

export interface TokurGraphOptions {
  /** M: models that are sampled, each with a KV cache of its own. */
  readonly samples: number;
  readonly directions: readonly LayerDirections[];
}

/**
 * TokUR (docs/design/evaluation.md, section 3): one sequence through several samples of the model.
 *
 * Inputs: those of {@link declareSequences}, with the same tokens for every sample, of
 * {@link declareWindows} and of {@link projectionNoise}; `rows` int64 `[samples · scored]`, the same rows of each sample.
 * Outputs: `eu`, `tu`, `au` `[scored]`; and what the attention puts out of keys and values.
 */
export function buildTokurGraph(source: ModelSource, { samples, directions }: TokurGraphOptions): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const batch = declareSequences(g, config, samples);
  const rows = g.input('rows', 'int64', ['rows_scored']);
  const windows = declareWindows(g, config, batch, ['inner']);
  const attention = windowAttention(g, config, batch, windows, outputWindow(g));
  const perturb = projectionNoise(g, directions, samples);
  const hidden = decoder.layers(decoder.embed(batch.ids), attention, perturb);
  const logprobs = logSoftmax(g, decoder.logits(hidden, rows));
  g.outputAll(tokurStatistics(g, g.reshape(logprobs, [samples, 'scored', config.vocabSize])));
  return g;
}
