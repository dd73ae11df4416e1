import { join } from 'node:path';
import type { ConversionPlan } from '../checkpoint/conversion.js';
import type { PackedFormat, PackedRows, PackedTensor } from '../checkpoint/packed.js';
import { weightValues } from '../checkpoint/weight-values.js';
import { productsOf, type Weight } from '../checkpoint/weights.js';
import { ModelError } from '../files/file-errors.js';
import { fusedProducts, type ModelSource } from '../graphs/decoder.js';
import { ROUNDED_LARGEST, ROUNDED_ZERO } from '../graphs/rounded-products.js';
import { rotate, rotationOf } from '../numerics/hadamard.js';
import { openPacked } from './integer-weights.js';

/** Version of the file's layout: a file of another version is made again. */
const FORMAT = 'flinch rounded 2';

/** One scale for each output. */
const formatOf = (inner: number): PackedFormat => ({
  bits: 8,
  zero: ROUNDED_ZERO,
  block: inner,
  group: 1,
  type: 'fp32',
  scales: 'units',
  offsets: null,
});

/**
 * The matrices of all products for `RoundedProducts`: rotated, and rounded to 7 bits. They are made once and kept in a
 * safetensors file, a byte for each weight.
 *
 * @param folder as for `openIntegerWeights`; the file has a folder of its own in it
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function openRoundedWeights(
  source: ModelSource,
  folder: string,
  onProgress?: ConversionPlan['onProgress'],
): Promise<ReadonlyMap<string, PackedTensor>> {
  const { config, tensors } = source;
  const sizes = new Map(productsOf(config).map(({ name, shape }) => [name, shape] as const));
  const fused = fusedProducts([...sizes.keys()]);
  // A graph may read the matrix as it is stored, too.
  const roundedName = (name: string): string => `${name}.rounded`;
  const weights = [...fused].map(([name, parts]) => {
    const inner = sizes.get(parts[0]!)![1];
    const out = parts.reduce((sum, part) => sum + sizes.get(part)![0], 0);
    return {
      name: roundedName(name),
      shape: [out, inner] as const,
      type: 'packed' as const,
      format: formatOf(inner),
      async *chunks() {
        for (const part of parts) yield* roundedRows(tensors.get(part)!);
      },
    };
  });
  const plan = { format: FORMAT, folder: join(folder, 'rounded'), weights, onProgress };
  const opened = await openPacked(source, plan);
  return new Map([...fused.keys()].map((name) => [name, opened.get(roundedName(name))!]));
}

async function* roundedRows(weight: Weight): AsyncGenerator<PackedRows> {
  const inner = weight.shape[1]!;
  for await (const values of weightValues(weight)) {
    rotate(values, rotationOf(inner));
    const scales = new Float32Array(values.length / inner);
    const integers = new Uint8Array(values.length);
    for (const row of scales.keys()) {
      const [from, to] = [row * inner, (row + 1) * inner];
      let [largest, sum] = [0, 0];
      for (let i = from; i < to; i += 1) {
        largest = Math.max(largest, Math.abs(values[i]!));
        sum += values[i]!;
      }
      const scale = Math.fround(largest / ROUNDED_LARGEST + sum * 0);
      if (!Number.isFinite(scale)) throw new ModelError(weight.file, weight.name, 'contains NaN or infinity');
      scales[row] = scale;
      for (let i = from; i < to; i += 1) {
        integers[i] = ROUNDED_ZERO + (scale > 0 ? Math.round(values[i]! / scale) : 0);
      }
    }
    yield { integers, scale_units: new Uint8Array(scales.buffer) };
  }
}
