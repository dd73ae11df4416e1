import { logSoftmax, pick, sign } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';
import { gradients } from '../onnx/vjp.js';
import { causalMask, type KeyValue, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';
import { findRival, statistics } from './token-statistics.js';

export interface ScoreGraphOptions {
  /** With an adversary the graph is a score pass; without, the plain forward pass of the same positions. */
  readonly adversary: boolean;
}

/**
 * The score window of DESIGN.md section 3 as one graph: clean forward → f; backward → gradient on the window's
 * embeddings H; Ĥ = H − α·sgn; perturbed forward → f̂. With the whole text as window and all response tokens
 * attacked it is Adv. Pert. as published (arXiv 2602.02427).
 *
 * Inputs: `ids`, `positions` `[batch, window]`; `past_positions` `[batch, past]`; `cos`, `sin`
 * `[batch, window, headDim / 2]`; per layer `past_key.N`, `past_value.N` `[batch, past, kvHeads · headDim]`;
 * `rows` `[scored]` (of batch · window) whose next token is scored, `targets` `[scored]` that next token;
 * with an adversary `attacked` fp32 `[scored]`, 1 where it attacks, and `alpha` `[]`.
 * Padding, of pasts and of windows, has positions beyond every query: then no query of a text sees it.
 *
 * Outputs, each `[scored]` but for `top_*` `[scored, 5]`: `logprob`, `entropy`, `margin`, `top_ids`,
 * `top_logprobs`; with an adversary `perturbed_logprob`, `rival`, `rival_before`, `rival_after`; and the clean keys
 * and values of the window, `key.N`, `value.N` `[batch, window, kvHeads · headDim]`.
 */
export function buildScoreGraph(source: ModelSource, { adversary }: ScoreGraphOptions): Graph {
  const { config } = source;
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const ids = g.input('ids', 'int64', ['batch', 'window']);
  const positions = g.input('positions', 'int64', ['batch', 'window']);
  const pastPositions = g.input('past_positions', 'int64', ['batch', 'past']);
  const angles = ['batch', 'window', config.headDim / 2] as const;
  const rotary = { cos: g.input('cos', 'float32', angles), sin: g.input('sin', 'float32', angles) };
  const shape = ['batch', 'past', config.kvHeads * config.headDim] as const;
  const past = config.slidingWindow.map((_, layer) => ({
    key: g.input(`past_key.${layer}`, 'float32', shape),
    value: g.input(`past_value.${layer}`, 'float32', shape),
  }));
  const rows = g.input('rows', 'int64', ['scored']);
  const targets = g.input('targets', 'int64', ['scored']);

  const masks = new Map<number | null, Value>();
  for (const sliding of config.slidingWindow) {
    if (!masks.has(sliding)) masks.set(sliding, causalMask(g, positions, pastPositions, sliding));
  }
  const inputs = { rotary, past, masks: config.slidingWindow.map((sliding) => masks.get(sliding)!) };
  const forward = (embeddings: Value) => {
    const present: KeyValue[] = [];
    const hidden = decoder.layers(embeddings, windowAttention(g, config, inputs, present));
    const logprobs = logSoftmax(g, decoder.logits(hidden, rows));
    return { present, logprobs, logprob: pick(g, logprobs, targets) };
  };

  const embeddings = decoder.embed(ids);
  const clean = forward(embeddings);
  const probabilities = g.op('Exp', [clean.logprobs]);
  g.output('logprob', clean.logprob);
  outputAll(g, statistics(g, { ...clean, probabilities }, targets));

  if (adversary) {
    const attacked = g.input('attacked', 'float32', ['scored']);
    const alpha = g.input('alpha', 'float32', []);
    const [gradient] = gradients(g, [{ value: clean.logprob, seed: attacked }], [embeddings]);
    const step = g.op('Mul', [sign(g, gradient!), alpha]);
    const perturbed = forward(g.op('Sub', [embeddings, step]));
    g.output('perturbed_logprob', perturbed.logprob);
    outputAll(g, findRival(g, probabilities, g.op('Exp', [perturbed.logprobs]), targets));
  }

  clean.present.forEach(({ key, value }, layer) => {
    g.output(`key.${layer}`, key);
    g.output(`value.${layer}`, value);
  });
  return g;
}

function outputAll(g: Graph, values: Readonly<Record<string, Value>>): void {
  for (const [name, value] of Object.entries(values)) g.output(name, value);
}
