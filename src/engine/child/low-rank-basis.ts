import type { Weight } from '../../checkpoint/weights.js';
import { type ModelSource, weightOf } from '../../graphs/decoder.js';
import { buildGramGraph } from '../../graphs/gram-graph.js';
import { leadingEigenvectors } from '../../numerics/subspace-iteration.js';
import { floats, openSession, type SessionOptions } from '../ort-session.js';

/** The top singular directions of one projection. */
export interface LowRankBasis {
  /** Left singular vectors as rows, `[rank, out]`: orthonormal, the largest entry of each positive. */
  readonly vectors: Float32Array;
  /** `[rank]`, largest first. */
  readonly singularValues: readonly number[];
}

/** Bases of the query and value projections of one layer. */
export interface LayerBasis {
  readonly q: LowRankBasis;
  readonly v: LowRankBasis;
}

/** r′ of TokUR: how many directions of a weight are perturbed. */
export const TOKUR_RANK = 8;

/**
 * The bases of TokUR for every layer, by onnxruntime on the weights as stored. One matrix at a time, so that at most
 * one fp32 copy of a bf16 or fp16 weight exists, and others have their turn: all together take seconds for a model of
 * 10⁸ parameters.
 */
export class TokurBases {
  readonly #source: ModelSource;
  readonly #options: SessionOptions;
  readonly #found: LowRankBasis[] = [];

  constructor(source: ModelSource, options: SessionOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** `null` until all are found. */
  get layers(): LayerBasis[] | null {
    const { layers } = this.#source.config;
    if (this.#found.length < 2 * layers) return null;
    return Array.from({ length: layers }, (_, i) => ({ q: this.#found[2 * i]!, v: this.#found[2 * i + 1]! }));
  }

  /**
   * Finds the next one.
   * @throws Error naming the weight, if it holds numbers that are not finite
   */
  async advance(): Promise<void> {
    const at = this.#found.length;
    if (this.layers) return;
    const name = `model.layers.${at >> 1}.self_attn.${at % 2 === 0 ? 'q' : 'v'}_proj.weight`;
    this.#found[at] = await leftSingularVectors(weightOf(this.#source, name), this.#options);
  }
}

/**
 * U[:, :rank] of W = U S Vᵀ, as the eigenvectors of W Wᵀ; {@link leadingEigenvectors} says how exact. A weight with
 * fewer rows has as many vectors as rows.
 */
export async function leftSingularVectors(
  weight: Weight,
  options: SessionOptions,
  rank = TOKUR_RANK,
): Promise<LowRankBasis> {
  const out = weight.shape[0]!;
  const session = await openSession(buildGramGraph(weight), options);
  try {
    const { vectors, values } = await leadingEigenvectors(
      async (rows, count) => {
        const { product } = await session.run({ rows: floats(rows, [count, out]) });
        return product!.data as Float32Array;
      },
      out,
      Math.min(rank, out),
    );
    return {
      vectors: Float32Array.from(vectors.flatMap((vector) => Array.from(vector))),
      singularValues: values.map((value) => Math.sqrt(Math.max(0, value))),
    };
  } catch (cause) {
    throw new Error(`${weight.name}: no singular vectors`, { cause });
  } finally {
    await session.release();
  }
}
