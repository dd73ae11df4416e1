import { logSoftmax, pick, sign } from '../onnx/functions.js';
import { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';
import { gradients } from '../onnx/vjp.js';
import { causalMask, type KeyValue, windowAttention } from './attention.js';
import { Decoder, type ModelSource } from './decoder.js';

/** How many of the most probable tokens a pass reports. */
export const TOP_TOKENS = 5;

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
  statistics(g, clean, probabilities, targets);

  if (adversary) {
    const attacked = g.input('attacked', 'float32', ['scored']);
    const alpha = g.input('alpha', 'float32', []);
    const [gradient] = gradients(g, [{ value: clean.logprob, seed: attacked }], [embeddings]);
    const step = g.op('Mul', [sign(g, gradient!), alpha]);
    const perturbed = forward(g.op('Sub', [embeddings, step]));
    g.output('perturbed_logprob', perturbed.logprob);
    rival(g, probabilities, g.op('Exp', [perturbed.logprobs]), targets);
  }

  clean.present.forEach(({ key, value }, layer) => {
    g.output(`key.${layer}`, key);
    g.output(`value.${layer}`, value);
  });
  return g;
}

/** Entropy −Σ p log p, margin 1 − (p(x) − max over v ≠ x of p(v)) (EVALUATION.md section 1), and the top tokens. */
function statistics(
  g: Graph,
  { logprobs, logprob }: { logprobs: Value; logprob: Value },
  probabilities: Value,
  targets: Value,
): void {
  const negative = g.reduce('ReduceSum', g.op('Mul', [probabilities, logprobs]), [-1], { keepDims: false });
  g.output('entropy', g.op('Neg', [negative]));

  const shape = ['scored', TOP_TOKENS];
  const [topLogprobs, topIds] = g.node(
    'TopK',
    [logprobs, g.ints([TOP_TOKENS])],
    { axis: -1, largest: 1, sorted: 1 },
    [
      { type: 'float32', shape },
      { type: 'int64', shape },
    ],
  );
  g.output('top_logprobs', topLogprobs!);
  g.output('top_ids', topIds!);

  const place = (table: Value, k: number): Value => g.reshape(g.slice(table, 1, [k], 1), ['scored']);
  const isFirst = g.op('Equal', [place(topIds!, 0), targets]);
  const other = g.op('Exp', [g.op('Where', [isFirst, place(topLogprobs!, 1), place(topLogprobs!, 0)])]);
  const lead = g.op('Sub', [g.op('Exp', [logprob]), other]);
  g.output('margin', g.op('Sub', [g.scalar(1), lead]));
}

/** The token v ≠ x whose probability grew most under the perturbation, with both probabilities. */
function rival(g: Graph, before: Value, after: Value, targets: Value): void {
  const growth = g.op('Sub', [after, before]);
  const column = g.unsqueeze(targets, [1]);
  const impossible = g.expand(g.scalar(-2), ['scored', 1]);
  const others = g.op('ScatterElements', [growth, column, impossible], { axis: 1 });
  const [id] = g.node('ArgMax', [others], { axis: 1, keepdims: 0 }, [{ type: 'int64', shape: ['scored'] }]);
  g.output('rival', id!);
  g.output('rival_before', pick(g, before, id!));
  g.output('rival_after', pick(g, after, id!));
}
