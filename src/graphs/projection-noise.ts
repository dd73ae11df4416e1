import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import type { ProjectionHook } from './decoder.js';

/** A basis of the output space of each projection, as rows `[rank, out]`: left singular vectors of its weight. */
export interface LayerDirections {
  readonly q: { readonly vectors: Float32Array };
  readonly v: { readonly vectors: Float32Array };
}

/**
 * Noise on queries and values along a few directions of their projections. The rows are those of so many samples of
 * one sequence, equally many each; a sample whose noise is zero runs as if there were none.
 *
 * The weights are W + B Eᵀ at every position of a sequence (docs/design/evaluation.md, section 3): W x gets B z with
 * z = Eᵀ x. Adds inputs per layer N, `noise.N.q` and `noise.N.v`, which hold E with its factor σ,
 * `[samples, hidden, rank]`. The directions themselves become constants of the graph: they never
 * change, so they should not be handed over at every run.
 */
export function projectionNoise(
  g: Graph,
  directions: readonly LayerDirections[],
  samples: number,
): ProjectionHook {
  const coordinates = (name: string, x: Value, rank: number): Value => {
    const [rows, hidden] = [x.shape[0]!, x.shape[1]!];
    const noise = g.input(name, 'float32', [samples, hidden, rank]);
    const z = g.op('MatMul', [g.reshape(x, [samples, 'window', hidden]), noise]);
    return g.reshape(z, [rows, rank]);
  };
  return (output, input, layer, name) => {
    const { vectors } = directions[layer]![name];
    const out = Number(output.shape[1]);
    const rank = vectors.length / out;
    const z = coordinates(`noise.${layer}.${name}`, input, rank);
    return g.op('Gemm', [z, g.array(vectors, [rank, out]), output]);
  };
}
