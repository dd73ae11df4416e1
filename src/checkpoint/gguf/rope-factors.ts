import { ModelError } from '../../files/errors.js';

/** Llama 3.1 and later; the file does not state them. */
const [LOW, HIGH] = [1, 4];
/** Positions of the first training are a power of two: 8192 in every model of Meta's. */
const ORIGINALS = Array.from({ length: 15 }, (_, i) => 2 ** (i + 6)).toSorted(
  (a, b) => Math.abs(Math.log2(a / 8192)) - Math.abs(Math.log2(b / 8192)),
);
const TOLERANCE = 1e-4;

/**
 * `rope_freqs.weight` holds what each frequency is divided by, where config.json has the four numbers of `llama3` scaling.
 *
 * @returns `rope_scaling` of config.json
 * @throws ModelError for factors that no such numbers give
 */
export function ropeFactors(
  factors: Float32Array,
  { theta, headDim }: { readonly theta: number; readonly headDim: number },
  file: string,
): Readonly<Record<string, unknown>> {
  const factor = Math.max(...factors);
  const original = ORIGINALS.find(
    (positions) =>
      factors.length === headDim / 2 &&
      factors.every((found, i) => {
        const wavelength = 2 * Math.PI * theta ** ((2 * i) / headDim);
        const expected = divisor(positions / wavelength, factor);
        return Math.abs(found - expected) <= TOLERANCE * expected;
      }),
  );
  if (original === undefined) {
    const problem = 'does not hold the factors of Llama 3 scaling, the only ones supported';
    throw new ModelError(file, 'rope_freqs.weight', problem);
  }
  return {
    rope_type: 'llama3',
    factor,
    low_freq_factor: LOW,
    high_freq_factor: HIGH,
    original_max_position_embeddings: original,
  };
}

/** @param turns of the frequency over the positions of the first training */
function divisor(turns: number, factor: number): number {
  if (turns > HIGH) return 1;
  if (turns < LOW) return factor;
  const smooth = (turns - LOW) / (HIGH - LOW);
  return 1 / ((1 - smooth) / factor + smooth);
}
