import { logSoftmax, pick, sign } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { type SplitGraph, splitGraph } from '../onnx/split.js';
import { gradients } from '../onnx/vjp.js';
import { declareWindows, outputWindow, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import type { ProductsOptions } from './products.js';
import { declareSequences } from './sequence-batch.js';
import { outputPerturbed, outputStatistics } from './statistics-graph.js';

/**
 * The score window of docs/design/engine.md, section 3 in parts: one graph runs the model forward, for the clean rows and
 * for the perturbed ones, and another goes back through it. So a process has one packed copy of the weights, and the time
 * to open the graphs, which grows with the square of their nodes, is a fifth.
 *
 * - `first`, the model forward: inputs of {@link declareSequences} and {@link declareWindows}, `rows`
 *   int64 `[scored]`, and `step` `[rows, hidden]`, which is added to the embeddings. Outputs: `logits`
 *   `[scored, vocab]`, the keys and values of the window, and what the second part takes.
 * - `second`, the model backward: also `targets` int64 `[scored]`, `attacked` fp32 `[scored]`, `alpha` `[1]`. Output:
 *   `adversary` `[rows, hidden]`, the step −α · sgn g.
 *
 * @param packs whether the first packs a copy of the integers of 4 bits: see {@link ProductsOptions}
 */
export function buildPassGraphs(
  source: ModelSource,
  { sequences, packs }: { readonly sequences: number; readonly packs: boolean },
): SplitGraph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source, { packs });
  const batch = declareSequences(g, config, sequences);
  const rows = g.input('rows', 'int64', ['scored']);
  const windows = declareWindows(g, config, batch, ['past']);
  const attention = windowAttention(g, config, batch, windows, outputWindow(g));
  const clean = decoder.embed(batch.ids);
  const embeddings = g.op('Add', [clean, g.input('step', 'float32', clean.shape)]);
  const logits = decoder.logits(decoder.layers(embeddings, attention), rows);
  g.output('logits', logits);

  const count = g.nodes.length;
  const targets = g.input('targets', 'int64', ['scored']);
  const attacked = g.input('attacked', 'float32', ['scored']);
  const alpha = g.input('alpha', 'float32', [1]);
  const logprob = pick(g, logSoftmax(g, logits), targets);
  const [gradient] = gradients(g, [{ value: logprob, seed: attacked }], [embeddings]);
  g.output('adversary', g.op('Neg', [g.op('Mul', [sign(g, gradient!), alpha])]));
  return splitGraph(g, count);
}

/**
 * Inputs: `logits` `[scored, vocab]`; `targets` int64 `[scored]`; with a rival also `perturbed_logits`.
 * Outputs: those of {@link outputStatistics}; with a rival {@link outputPerturbed}.
 */
export function buildStatisticsGraph(
  { config }: Pick<ModelSource, 'config'>,
  { rival, top }: { readonly rival: boolean; readonly top?: number },
): Graph {
  const g = new Graph();
  const shape = ['scored', config.vocabSize];
  const logits = g.input('logits', 'float32', shape);
  const targets = g.input('targets', 'int64', ['scored']);
  const probabilities = outputStatistics(g, { logits, targets, top });
  if (rival)
    outputPerturbed(g, probabilities, { logits: g.input('perturbed_logits', 'float32', shape), targets });
  return g;
}
