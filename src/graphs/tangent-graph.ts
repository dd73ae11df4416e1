import type { Graph } from '../onnx/graph.js';
import { tangents } from '../onnx/jvp.js';
import type { ModelSource } from './decoder.js';
import { cleanProbabilities, outputDerivative } from './statistics-graph.js';
import { beginWindowPart } from './window-part.js';

export interface TangentGraphOptions {
  /** How many of the most probable tokens are wanted; 5 by default. */
  readonly top?: number;
}

/**
 * The derivative of a window's log-probabilities along a direction of its embeddings, for a part of the window: where
 * windows are too long for one run. The first part comes first, and hands on how its keys and values change.
 *
 * Inputs: those of {@link beginWindowPart}; `alpha` `[1]`; `direction` `[rows, hidden]`; per layer `d_inner_key.0.layer`, `d_inner_value.0.layer`
 * `[inner, kvHeads, headDim]`: the derivatives of what earlier parts handed on.
 * Outputs: those of `buildScoreGraph` with its derivative but for `window_*`; and per layer `d_key.0.layer`,
 * `d_value.0.layer` `[rows, kvHeads, headDim]`.
 */
export function buildTangentGraph(source: ModelSource, { top }: TangentGraphOptions = {}): Graph {
  const { g, embeddings, logits, targets, inner, present } = beginWindowPart(source);
  const alpha = g.input('alpha', 'float32', [1]);
  const probabilities = cleanProbabilities(g, source, { logits, targets, top });
  const seeds = inner.flatMap((before, layer) =>
    (['key', 'value'] as const).map((name) => ({
      value: before[name],
      tangent: g.input(`d_inner_${name}.0.${layer}`, 'float32', before[name].shape),
    })),
  );
  seeds.push({ value: embeddings, tangent: g.input('direction', 'float32', embeddings.shape) });
  const kept = present.flatMap(({ key, value }) => [key, value]);
  const [slope, ...changes] = tangents(g, seeds, [logits, ...kept]);
  outputDerivative(g, probabilities, { slope: slope!, alpha }, targets);
  for (const [i, change] of changes.entries()) {
    g.output(`d_${i % 2 === 0 ? 'key' : 'value'}.0.${i >> 1}`, change);
  }
  return g;
}
