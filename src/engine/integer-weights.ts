import {
  type ConversionPlan,
  type ConvertedWeight,
  convert,
  planConversion,
} from '../checkpoint/conversion.js';
import type { PackedFormat, PackedRows, PackedTensor } from '../checkpoint/packed.js';
import { weightValues } from '../checkpoint/weight-values.js';
import { EMBEDDING, inFloat8, productsOf, type Weight } from '../checkpoint/weights.js';
import { ModelError } from '../files/file-errors.js';
import type { ModelSource } from '../graphs/decoder.js';

/** Version of the file's layout: a file of another version is made again. */
const FORMAT = 'flinch int8 2';
/** An integer is stored as a number from 1 to 255, this one for 0. */
const ZERO = 128;
const LARGEST = 127;
const BLOCK = 32;
/** Symmetric, with one scale for each block of 32 inputs of an output. */
const ROUNDED: PackedFormat = {
  bits: 8,
  zero: ZERO,
  block: BLOCK,
  group: 1,
  type: 'fp32',
  scales: 'units',
  offsets: null,
};

/** The matrices of products that are stored in integers already. */
export function packedWeights({ config, tensors }: ModelSource): ReadonlyMap<string, PackedTensor> {
  const packed = new Map<string, PackedTensor>();
  for (const { name } of productsOf(config)) {
    const weight = tensors.get(name);
    if (weight?.type === 'packed' && !inFloat8(weight)) packed.set(name, weight);
  }
  return packed;
}

/**
 * The other matrices of products, rounded to 8 bits. They are made once and kept in a safetensors file; a file that is
 * cut, or of another layout, is made again.
 *
 * @param folder named after the checkpoint's fingerprint: what it holds is not compared with the weights
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function openIntegerWeights(
  source: ModelSource,
  folder: string,
  onProgress?: ConversionPlan['onProgress'],
): Promise<ReadonlyMap<string, PackedTensor>> {
  return openPacked(source, { ...planOf(source), folder, onProgress });
}

/** Matrices in integers, which are made if they are not there. */
export async function openPacked(
  { tensors }: ModelSource,
  plan: Omit<ConversionPlan, 'file' | 'texts'>,
): Promise<ReadonlyMap<string, PackedTensor>> {
  await convert({ ...plan, file: tensors.get(EMBEDDING)!.file });
  return new Map(
    [...planConversion(plan).tensors].flatMap(([name, weight]) =>
      weight.type === 'packed' ? [[name, weight] as const] : [],
    ),
  );
}

const planOf = ({ config, tensors }: ModelSource) => ({
  format: FORMAT,
  weights: productsOf(config).flatMap(({ name, shape }): ConvertedWeight[] => {
    const weight = tensors.get(name);
    if (weight?.type === 'packed' && !inFloat8(weight)) return [];
    return [{ name, shape, type: 'packed', format: ROUNDED, chunks: () => roundedRows(tensors.get(name)!) }];
  }),
});

async function* roundedRows(weight: Weight): AsyncGenerator<PackedRows> {
  for await (const values of weightValues(weight)) {
    const { integers, scales } = roundRows(values, weight.shape[1]!);
    if (!scales.every(Number.isFinite)) {
      throw new ModelError(weight.file, weight.name, 'contains NaN or infinity');
    }
    yield { integers, scale_units: new Uint8Array(scales.buffer) };
  }
}

interface RoundedRows {
  readonly integers: Uint8Array;
  readonly scales: Float32Array;
}

/** Rows of so many values; the last block of a row is filled with zeros. A scale is NaN or infinity where a value is. */
export function roundRows(values: Float32Array, inner: number): RoundedRows {
  const blocks = Math.ceil(inner / BLOCK);
  const rows = values.length / inner;
  const integers = new Uint8Array(rows * blocks * BLOCK).fill(ZERO);
  const scales = new Float32Array(rows * blocks);
  for (let row = 0; row < rows; row += 1) {
    for (let block = 0; block < blocks; block += 1) {
      const from = row * inner + block * BLOCK;
      const to = Math.min(from + BLOCK, (row + 1) * inner);
      let [largest, sum] = [0, 0];
      for (let i = from; i < to; i += 1) {
        largest = Math.max(largest, Math.abs(values[i]!));
        sum += values[i]!;
      }
      const scale = Math.fround(largest / LARGEST + sum * 0);
      const at = row * blocks + block;
      scales[at] = scale;
      if (!(scale > 0)) continue; // zeros, or not numbers
      for (let i = from; i < to; i += 1) {
        integers[at * BLOCK + i - from] = ZERO + Math.round(values[i]! / scale);
      }
    }
  }
  return { integers, scales };
}
