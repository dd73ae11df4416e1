import type { Graph } from '../onnx/graph.js';
import { gradients } from '../onnx/vjp.js';
import type { ModelSource } from './decoder.js';
import { logitGradient, probabilitiesOf } from './statistics-graph.js';
import { beginWindowPart } from './window-part.js';

/**
 * The gradient of a window's log-probabilities on a part of its embeddings: for windows that are too long for one run.
 * The last part comes first. What it owes to keys and values of earlier parts is handed on, part to part: backward
 * through the KV cache.
 *
 * Inputs: those of {@link beginWindowPart}; `attacked` fp32 `[scored]`; per layer `d_key.0.layer`, `d_value.0.layer`
 * `[inner+rows, kvHeads, headDim]`: the gradient that later parts have on these positions, zero for the last part.
 * Outputs: `gradient` `[rows, hidden]`; and what to hand on, `d_inner_key.0.layer`, `d_inner_value.0.layer`
 * `[inner, kvHeads, headDim]`.
 */
export function buildBackwardGraph(source: ModelSource): Graph {
  const { g, embeddings, logits, targets, inner: before, present } = beginWindowPart(source);
  const attacked = g.input('attacked', 'float32', ['scored']);
  const probabilities = probabilitiesOf(g, source, { logits, targets });

  const seeds = [{ value: logits, seed: logitGradient(g, probabilities, targets, attacked) }];
  const inner = before.flatMap(({ key, value }) => [key, value]);
  const later = present.flatMap(({ key, value }, layer) =>
    Object.entries({ key, value }).map(([name, made]) => {
      const [size, ...head] = made.shape;
      const given = g.input(`d_${name}.0.${layer}`, 'float32', [`inner+${size}`, ...head]);
      seeds.push({ value: made, seed: g.slice(given, 0, ['inner.0'], size!) });
      return g.slice(given, 0, [0], 'inner.0');
    }),
  );
  const [gradient, ...changes] = gradients(g, seeds, [embeddings, ...inner]);
  g.output('gradient', gradient!);
  for (const [i, change] of changes.entries()) {
    const name = `d_inner_${i % 2 === 0 ? 'key' : 'value'}.0.${i >> 1}`;
    g.output(name, g.op('Add', [later[i]!, change]));
  }
  return g;
}
