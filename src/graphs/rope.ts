import type { ModelConfig, RopeScaling } from '../checkpoint/config.js';

/** Angles of rotary position embedding for one pass, fp32, `[positions, headDim / 2]`. */
export interface RotaryAngles {
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * cos and sin of position · frequency, computed in float64: at position 10⁴ an fp32 product is off by 10⁻³ rad.
 * The frequencies are θ^(−2i/d) (RoFormer, arXiv 2104.09864), rescaled as the checkpoint says.
 */
export class RotaryEmbedding {
  readonly #frequencies: readonly number[];

  constructor({ headDim, rope }: Pick<ModelConfig, 'headDim' | 'rope'>) {
    this.#frequencies = Array.from({ length: headDim / 2 }, (_, i) =>
      rescale(rope.theta ** ((-2 * i) / headDim), rope.scaling),
    );
  }

  angles(positions: readonly number[]): RotaryAngles {
    const products = positions.flatMap((position) =>
      this.#frequencies.map((frequency) => position * frequency),
    );
    return { cos: Float32Array.from(products, Math.cos), sin: Float32Array.from(products, Math.sin) };
  }
}

/** `llama3`: long wavelengths are divided by `factor`, short ones kept, those between interpolated. */
function rescale(frequency: number, scaling: RopeScaling | null): number {
  if (scaling === null) return frequency;
  if (scaling.type === 'linear') return frequency / scaling.factor;
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositions } = scaling;
  const wavelengths = (originalMaxPositions * frequency) / (2 * Math.PI);
  if (wavelengths < lowFreqFactor) return frequency / factor;
  if (wavelengths > highFreqFactor) return frequency;
  const smooth = (wavelengths - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return (1 - smooth) * (frequency / factor) + smooth * frequency;
}
