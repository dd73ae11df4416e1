import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';
import type { ProjectionHook } from './decoder.js';

/** A basis of the output space of each projection, as rows `[rank, out]`: left singular vectors of its weight. */
export interface LayerDirections {
  readonly q: { readonly vectors: Float32Array };
  readonly v: { readonly vectors: Float32Array };
}

/**
 * Law of the noise z of W x + B z (docs/design/evaluation.md, section 3). At one position both laws are the
 * same.
 * - `weights`: z = Eᵀ x, that is, the weights are W + B Eᵀ at every position of a sequence.
 * - `positions`: z = ‖x‖ n, with a new n at every position.
 */
export type NoiseLaw = 'weights' | 'positions';

/**
 * Noise on queries and values along a few directions of their projections. The rows are those of so many samples of
 * one sequence, equally many each; a sample whose noise is zero runs as if there were none.
 *
 * Adds inputs per layer N, `noise.N.q` and `noise.N.v`, which hold the factor σ: E `[samples, hidden, rank]` under
 * `weights`, n `[rows, rank]` under `positions`. The directions themselves become constants of the graph: they never
 * change, so they should not be handed over at every run.
 */
export function projectionNoise(
  g: Graph,
  directions: readonly LayerDirections[],
  law: NoiseLaw,
  samples: number,
): ProjectionHook {
  const coordinates = (name: string, x: Value, rank: number): Value => {
    const [rows, hidden] = [x.shape[0]!, x.shape[1]!];
    if (law === 'weights') {
      const noise = g.input(name, 'float32', [samples, hidden, rank]);
      const z = g.op('MatMul', [g.reshape(x, [samples, 'window', hidden]), noise]);
      return g.reshape(z, [rows, rank]);
    }
    const noise = g.input(name, 'float32', [rows, rank]);
    const norm = g.op('Sqrt', [g.reduce('ReduceSum', g.op('Mul', [x, x]), [1])]);
    return g.op('Mul', [noise, norm]);
  };
  return (output, input, layer, name) => {
    const { vectors } = directions[layer]![name];
    const out = Number(output.shape[1]);
    const rank = vectors.length / out;
    const z = coordinates(`noise.${layer}.${name}`, input, rank);
    return g.op('Gemm', [z, g.array(vectors, [rank, out]), output]);
  };
}
