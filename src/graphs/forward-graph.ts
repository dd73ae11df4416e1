import { logSoftmax, pick } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { Decoder, type ModelSource } from './decoder.js';
import { declareRun, type Sequences } from './run-inputs.js';
import { outputPerturbed, outputStatistics } from './statistics-graph.js';

export interface ForwardGraphOptions {
  readonly sequences: Sequences;
  /**
   * Output for the scored rows.
   * - `logprobs`: of all tokens, `[scored, vocab]`
   * - `logprob`: of the target, `[scored]`
   * - `statistics`: that and its statistics, {@link outputStatistics}
   * - `hidden`: what the last layer puts out, `[scored, hidden]`
   * - `compare`: these rows are perturbed, and an input `clean_hidden` `[scored, hidden]` has the same rows as they
   *   were: `statistics` of the clean rows, and {@link outputPerturbed}
   */
  readonly result: 'logprobs' | 'logprob' | 'statistics' | 'hidden' | 'compare';
  /** Whether something is added to the embeddings: an input `noise` `[rows, hidden]`. */
  readonly noise?: boolean;
  /**
   * Whether keys and values before the rows are read where they are, which is faster for single rows. By default they
   * are copied and joined with those of the rows: then a row comes to the same bits however its text is cut.
   */
  readonly apart?: boolean;
  /** How many of the most probable tokens statistics list; 5 by default. */
  readonly top?: number;
}

/**
 * Tokens against the KV caches of several sequences → the distribution of the next token of chosen rows.
 *
 * Inputs: those of {@link declareSequences} and {@link declareWindows}; `rows` int64 `[scored]`, numbers of rows whose
 * next token is wanted; but for `logprobs` and `hidden` also `targets` int64 `[scored]`, that token.
 * Outputs: the result, natural log, temperature 1; and what the attention puts out of keys and values.
 */
export function buildForwardGraph(
  source: ModelSource,
  { sequences, result, noise, apart, top }: ForwardGraphOptions,
): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const run = declareRun(g, config, sequences, apart ? 'past' : 'inner');
  const rows = g.input('rows', 'int64', ['scored']);

  const clean = decoder.embed(run.ids);
  const embeddings = noise ? g.op('Add', [clean, g.input('noise', 'float32', clean.shape)]) : clean;
  const hidden = decoder.layers(embeddings, run.attention('outputs keys'));
  if (result === 'hidden') {
    g.output('hidden', g.op('Gather', [hidden, rows], { axis: 0 }));
    return g;
  }
  const logits = decoder.logits(hidden, rows);
  if (result === 'logprobs') {
    g.output('logprobs', logSoftmax(g, logits));
    return g;
  }
  const targets = g.input('targets', 'int64', ['scored']);
  if (result === 'compare') {
    const clean = decoder.head(g.input('clean_hidden', 'float32', ['scored', config.hiddenSize]));
    const probabilities = outputStatistics(g, { logits: clean, targets, top });
    outputPerturbed(g, probabilities, { logits, targets });
  } else if (result === 'statistics') {
    outputStatistics(g, { logits, targets, top });
  } else {
    g.output('logprob', pick(g, logSoftmax(g, logits), targets));
  }
  return g;
}
