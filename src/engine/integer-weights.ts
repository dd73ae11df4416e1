import type { ModelConfig } from '../checkpoint/config.js';
import { decodeElements, ELEMENT_BYTES } from '../checkpoint/elements.js';
import type { StoredTensor } from '../checkpoint/safetensors.js';
import {
  isWhole,
  type PlannedTensor,
  planSafetensors,
  replaceFile,
  type SafetensorsPlan,
  writeAll,
} from '../checkpoint/safetensors-file.js';
import { EMBEDDING, expectedTensors } from '../checkpoint/weights.js';
import { openWeights } from '../checkpoint/weights-file.js';
import { ModelError, reasonOf } from '../files/errors.js';
import { INTEGER_BLOCK, type IntegerWeights, type ModelSource } from '../graphs/decoder.js';
import type { ExternalTensor } from '../onnx/graph.js';

/** Version of the file's layout: a file of another version is made again. */
const FORMAT = 'flinch int8 1';
/** An integer is stored as a number from 1 to 255, this one for 0. */
const ZERO = 128;
const LARGEST = 127;
/** Read at once. */
const CHUNK_BYTES = 1 << 24;

/**
 * The weights of products, rounded to 8 bits: symmetric, with one scale for each block of 32 inputs of an output. They
 * are made once and kept in a safetensors file; a file that is cut, or of another layout, is made again.
 *
 * @param file named after the checkpoint's fingerprint: what it holds is not compared with the weights
 * @throws ModelError for weights that are not finite or cannot be read, and where the file cannot be written
 */
export async function openIntegerWeights(source: ModelSource, file: string): Promise<IntegerWeights> {
  const layout = layOut(source, file);
  try {
    if (!(await isWhole(file, layout.plan))) await write(layout, source);
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(file, '', `cannot be written (${reasonOf(cause)})`, { cause });
  }
  return layout.weights;
}

/** Bytes of that file for a model: its integers and their scales, 1.125 for each weight of a product. */
export const integerBytes = (config: ModelConfig): number => layOut({ config }, '').plan.byteLength;

interface Layout {
  readonly file: string;
  readonly plan: SafetensorsPlan;
  readonly weights: IntegerWeights;
}

/** Tensors of the file and their positions, which follow from the configuration alone. */
function layOut({ config }: Pick<ModelSource, 'config'>, file: string): Layout {
  const head = config.tieWordEmbeddings ? EMBEDDING : 'lm_head.weight';
  const matrices = [...expectedTensors(config)].flatMap(([name, [out, inner]]) =>
    inner === undefined || (name === EMBEDDING && name !== head)
      ? []
      : [{ name, out: out!, blocks: Math.ceil(inner / INTEGER_BLOCK) }],
  );
  // Scales first: they have to lie at multiples of four bytes.
  const entries: PlannedTensor[] = [
    ...matrices.map(({ name, out, blocks }) => ({
      ...{ name: `${name}.scales`, dtype: 'F32' as const, shape: [out, blocks] },
    })),
    ...matrices.map(({ name, out, blocks }) => ({
      ...{ name: `${name}.integers`, dtype: 'U8' as const, shape: [out, blocks, INTEGER_BLOCK] },
    })),
  ];
  const plan = planSafetensors(FORMAT, entries);
  const found = new Map(
    entries.map(({ name, dtype, shape }): [string, ExternalTensor] => [
      name,
      { ...{ name, shape, file }, type: dtype === 'U8' ? 'uint8' : 'float32', ...plan.places.get(name)! },
    ]),
  );
  const weights = new Map(
    matrices.map(({ name }) => [
      name,
      { integers: found.get(`${name}.integers`)!, scales: found.get(`${name}.scales`)! },
    ]),
  );
  return { file, plan, weights };
}

async function write({ file, plan, weights }: Layout, { tensors }: ModelSource): Promise<void> {
  await replaceFile(file, async (to) => {
    await writeAll(to, plan.header, 0);
    for (const [name, { integers, scales }] of weights) {
      const tensor = tensors.get(name);
      if (!tensor) throw new Error(`checkpoint: no tensor ${name}`);
      let [integersAt, scalesAt] = [integers.offset, scales.offset];
      for await (const rows of roundedRows(tensor)) {
        await writeAll(to, rows.integers, integersAt);
        await writeAll(to, new Uint8Array(rows.scales.buffer), scalesAt);
        integersAt += rows.integers.byteLength;
        scalesAt += rows.scales.byteLength;
      }
    }
  });
}

interface RoundedRows {
  readonly integers: Uint8Array;
  readonly scales: Float32Array;
}

/** A weight, some of its rows at a time. */
async function* roundedRows({ name, type, shape, file, offset }: StoredTensor): AsyncGenerator<RoundedRows> {
  const [out = 0, inner = 0] = shape;
  const rowBytes = inner * ELEMENT_BYTES[type];
  const most = Math.max(1, Math.floor(CHUNK_BYTES / rowBytes));
  const from = await openWeights(file);
  try {
    for (let row = 0; row < out; row += most) {
      const rows = Math.min(most, out - row);
      const bytes = new Uint8Array(rows * rowBytes);
      const { bytesRead } = await from.read(bytes, 0, bytes.length, offset + row * rowBytes);
      if (bytesRead < bytes.length) throw new ModelError(file, name, 'ends before its last element');
      const rounded = roundRows(decodeElements(type, bytes), inner);
      if (!rounded.scales.every(Number.isFinite)) {
        throw new ModelError(file, name, 'contains NaN or infinity');
      }
      yield rounded;
    }
  } finally {
    await from.close();
  }
}

/** Rows of so many values; the last block of a row is filled with zeros. A scale is NaN or infinity where a value is. */
export function roundRows(values: Float32Array, inner: number): RoundedRows {
  const blocks = Math.ceil(inner / INTEGER_BLOCK);
  const rows = values.length / inner;
  const integers = new Uint8Array(rows * blocks * INTEGER_BLOCK).fill(ZERO);
  const scales = new Float32Array(rows * blocks);
  for (let row = 0; row < rows; row += 1) {
    for (let block = 0; block < blocks; block += 1) {
      const from = row * inner + block * INTEGER_BLOCK;
      const to = Math.min(from + INTEGER_BLOCK, (row + 1) * inner);
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
        integers[at * INTEGER_BLOCK + i - from] = ZERO + Math.round(values[i]! / scale);
      }
    }
  }
  return { integers, scales };
}
