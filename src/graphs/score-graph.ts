import { sign } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import { tangents } from '../onnx/jvp.js';
import type { Value } from '../onnx/onnx-types.js';
import { gradients } from '../onnx/vjp.js';
import { type Attention, Decoder, type ModelSource } from './decoder.js';
import { declareRun, type Sequences } from './run-inputs.js';
import { cleanProbabilities, logitGradient, outputDerivative, outputPerturbed } from './statistics-graph.js';

export interface ScoreGraphOptions {
  readonly sequences: Sequences;
  /** Take the step and run the model again, or take the derivative along it: no difference of nearly equal numbers. */
  readonly form: 'perturb' | 'derivative';
  /** How many of the most probable tokens are wanted; 5 by default. */
  readonly top?: number;
}

/**
 * The score window of docs/design/engine.md, section 3 as one graph: clean forward → f; backward → gradient on the window's
 * embeddings H; Ĥ = H − α·sgn; perturbed forward → f̂. With the whole sequence as window and all response tokens
 * attacked it is Adv. Pert. as published (arXiv 2602.02427).
 *
 * Inputs: those of {@link declareSequences} and {@link declareWindows}; `rows` int64 `[scored]`,
 * numbers of rows whose next token is scored; `targets` int64 `[scored]`, that token; `attacked` fp32 `[scored]`, 1
 * where the adversary attacks; `alpha` `[1]`.
 *
 * Outputs, each `[scored]` but for `top_*` `[scored, top]`: `logprob`, `entropy`, `margin`, `top_ids`,
 * `top_logprobs`; `perturbed_logprob` f̂, or `derivative` ∇f · sgn g, so that f − f̂ ≈ α · derivative; `rival`,
 * `rival_before`, `rival_after` (to first order with a derivative); and the clean keys and values of the window,
 * `window_key.t.layer`, `window_value.t.layer` `[rows, kvHeads, headDim]`. Of rounded products what describes the clean
 * distribution is left out: it would not be that of the model.
 */
export function buildScoreGraph(source: ModelSource, { sequences, form, top }: ScoreGraphOptions): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const run = declareRun(g, config, sequences, 'past');
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);
  const attacked = g.input('attacked', 'float32', ['scored']);
  const alpha = g.input('alpha', 'float32', [1]);

  const embeddings = decoder.embed(run.ids);
  const forward = (embeddings: Value, attention: Attention): Value =>
    decoder.logits(decoder.layers(embeddings, attention), rows);
  const logits = forward(embeddings, run.attention('outputs keys'));
  const probabilities = cleanProbabilities(g, source, { logits, targets, top });

  const seed = logitGradient(g, probabilities, targets, attacked);
  const [gradient] = gradients(g, [{ value: logits, seed }], [embeddings]);
  const direction = sign(g, gradient!);
  if (form === 'derivative') {
    const [slope] = tangents(g, [{ value: embeddings, tangent: direction }], [logits]);
    outputDerivative(g, probabilities, { slope: slope!, alpha }, targets);
    return g;
  }
  const step = g.op('Mul', [direction, alpha]);
  const perturbed = forward(g.op('Sub', [embeddings, step]), run.attention());
  outputPerturbed(g, probabilities, { logits: perturbed, targets });
  return g;
}
