import { logSoftmax, pick } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { declareWindows, fusedAttention, outputWindow, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { declareTexts } from './text-batch.js';
import { statistics } from './token-statistics.js';

export interface ForwardGraphOptions {
  /** How many texts go through in one run. */
  readonly texts: number;
  /** What is wanted of the scored rows: all log-probabilities, one token's and {@link statistics}, or just that one. */
  readonly result: 'logprobs' | 'statistics' | 'logprob';
  /** Whether something is added to the embeddings: an input `noise` `[rows, hidden]`. */
  readonly noise?: boolean;
  /** Which attention: {@link fusedAttention} or, where that cannot run, {@link windowAttention}. */
  readonly fused: boolean;
}

/**
 * Tokens against the KV caches of several texts → the distribution of the next token of chosen rows.
 *
 * Inputs: those of {@link declareTexts} and of the attention; `rows` int64 `[scored]`, numbers of rows whose
 * next token is wanted; but for `logprobs` also `targets` int64 `[scored]`, that token.
 * Outputs: `logprobs` `[scored, vocab]`, or `logprob` `[scored]` and with `statistics` the names of those; natural log,
 * temperature 1; and what the attention puts out of keys and values.
 */
export function buildForwardGraph(
  source: ModelSource,
  { texts, result, noise, fused }: ForwardGraphOptions,
): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const batch = declareTexts(g, config, texts);
  const rows = g.input('rows', 'int64', ['scored']);
  const attention = fused
    ? fusedAttention(g, config, batch)
    : windowAttention(g, config, batch, declareWindows(g, config, batch), outputWindow(g));

  const clean = decoder.embed(batch.ids);
  const embeddings = noise ? g.op('Add', [clean, g.input('noise', 'float32', clean.shape)]) : clean;
  const logprobs = logSoftmax(g, decoder.logits(decoder.layers(embeddings, attention), rows));
  if (result === 'logprobs') {
    g.output('logprobs', logprobs);
    return g;
  }
  const targets = g.input('targets', 'int64', ['scored']);
  const logprob = pick(g, logprobs, targets);
  g.output('logprob', logprob);
  if (result === 'statistics') {
    const probabilities = g.op('Exp', [logprobs]);
    g.outputAll(statistics(g, { logprobs, probabilities, logprob }, targets));
  }
  return g;
}
