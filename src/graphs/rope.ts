import type { Rope, RopeScaling } from '../checkpoint/rope-config.js';

/** Angles of rotary position embedding for one pass, fp32, `[positions, dimensions / 2]`. */
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
  /** Factor of cosine and sine, and thus of rotated queries and keys. */
  readonly #factor: number;

  constructor({ theta, dimensions, scaling }: Rope) {
    const plain = Array.from({ length: dimensions / 2 }, (_, i) => theta ** ((-2 * i) / dimensions));
    this.#frequencies = scaling ? rescale(plain, theta, scaling) : plain;
    this.#factor = scaling && 'attentionFactor' in scaling ? scaling.attentionFactor : 1;
  }

  angles(positions: readonly number[]): RotaryAngles {
    const products = positions.flatMap((position) =>
      this.#frequencies.map((frequency) => position * frequency),
    );
    const factor = this.#factor;
    return {
      cos: Float32Array.from(products, (angle) => factor * Math.cos(angle)),
      sin: Float32Array.from(products, (angle) => factor * Math.sin(angle)),
    };
  }
}

function rescale(frequencies: readonly number[], theta: number, scaling: RopeScaling): number[] {
  switch (scaling.type) {
    case 'linear':
      return frequencies.map((frequency) => frequency / scaling.factor);
    case 'longrope':
      return frequencies.map((frequency, i) => frequency / scaling.shortFactors[i]!);
    case 'llama3':
      return frequencies.map((frequency) => llama3(frequency, scaling));
    case 'yarn':
      return yarn(frequencies, theta, scaling);
  }
}

type Scaling<Type> = Extract<RopeScaling, { readonly type: Type }>;

/** Long wavelengths are divided by `factor`, short ones kept, those between interpolated. */
function llama3(
  frequency: number,
  { factor, lowFreqFactor, highFreqFactor, originalMaxPositions }: Scaling<'llama3'>,
): number {
  const wavelengths = (originalMaxPositions * frequency) / (2 * Math.PI);
  if (wavelengths < lowFreqFactor) return frequency / factor;
  if (wavelengths > highFreqFactor) return frequency;
  const smooth = (wavelengths - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return (1 - smooth) * (frequency / factor) + smooth * frequency;
}

/** The same with a ramp over dimensions, from the one that turns `betaFast` times to the one that turns `betaSlow` times. */
function yarn(
  frequencies: readonly number[],
  theta: number,
  { factor, betaFast, betaSlow, truncate, originalMaxPositions }: Scaling<'yarn'>,
): number[] {
  const size = 2 * frequencies.length;
  const dimensionOf = (turns: number): number =>
    (size * Math.log(originalMaxPositions / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [dimensionOf(betaFast), dimensionOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(first) : first, 0);
  const high = Math.min(truncate ? Math.ceil(last) : last, size - 1);
  const width = high === low ? 0.001 : high - low;
  return frequencies.map((frequency, i) => {
    const divided = Math.min(Math.max((i - low) / width, 0), 1);
    return divided * (frequency / factor) + (1 - divided) * frequency;
  });
}
