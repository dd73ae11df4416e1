import { ModelError } from '../../files/file-errors.js';
import { allFinite, CHUNK_BYTES, type ConvertedWeight } from '../conversion.js';
import type { StoredType } from '../elements.js';
import type { PackedRows } from '../packed.js';
import { openFile, readTensor } from '../read-file.js';
import type { StoredTensor } from '../safetensors.js';
import { type BlockLayout, decodeBlocks } from './gguf-types.js';
import type { GgufWeight } from './gguf-weights.js';

/** A weight that is read where it lies in the GGUF file; `null` for one that has to be converted. */
export function weightInPlace(weight: GgufWeight, file: string): StoredTensor | null {
  const { name, shape, tensor, layout, interleaved } = weight;
  const { offset, byteLength } = tensor;
  if (layout.native === null || weight.offset !== 0 || interleaved !== null || byteLength === null)
    return null;
  return { name, shape, file, type: layout.native, offset, byteLength };
}

/**
 * A weight as it is kept in the cache folder: a matrix of integers in parts of their own, all else in fp32 or as it was.
 * Throws ModelError for numbers that are not finite.
 */
export function convertedGguf(weight: GgufWeight, file: string): ConvertedWeight {
  const { name, shape, layout } = weight;
  const [out, inner] = shape;
  if (layout.native !== null || inner === undefined) {
    return { name, shape, type: keptType(weight), chunks: () => plainRows(weight, file) };
  }
  return {
    name,
    shape: [out!, inner],
    type: 'packed',
    format: layout.format,
    chunks: () => packedRowsOf(weight, layout, file),
  };
}

/** Type of a weight that is not packed: the file's own type, or fp32 if it is computed. */
const keptType = ({ layout: { native }, offset }: GgufWeight): StoredType =>
  offset === 0 ? (native ?? 'fp32') : 'fp32';

async function* packedRowsOf(
  weight: GgufWeight,
  layout: BlockLayout,
  file: string,
): AsyncGenerator<PackedRows> {
  for await (const bytes of storedRows(weight, file)) {
    const rows = layout.pack(bytes);
    for (const units of [rows.scale_units, rows.offset_units]) {
      if (units && !finiteHalves(units)) {
        throw new ModelError(file, weight.tensor.name, 'contains NaN or infinity');
      }
    }
    yield rows;
  }
}

/** Half-precision numbers whose exponents are all ones are not finite. */
function finiteHalves(bytes: Uint8Array): boolean {
  for (let i = 1; i < bytes.length; i += 2) if ((bytes[i]! & 0x7c) === 0x7c) return false;
  return true;
}

async function* plainRows(weight: GgufWeight, file: string): AsyncGenerator<Uint8Array> {
  const { tensor, layout, offset } = weight;
  for await (const bytes of storedRows(weight, file)) {
    const values = decodeBlocks(layout, bytes);
    if (!allFinite(values)) throw new ModelError(file, tensor.name, 'contains NaN or infinity');
    if (offset !== 0) for (const [i, value] of values.entries()) values[i] = value - offset;
    const kept = layout.native !== null && offset === 0;
    yield kept ? bytes : new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  }
}

/** The bytes of a weight, whole heads at a time where they are interleaved, and those in the order of the checkpoint. */
async function* storedRows(weight: GgufWeight, file: string): AsyncGenerator<Uint8Array> {
  const { tensor, layout, interleaved } = weight;
  // Each element of a vector of biases is a row.
  const [rows, inner] = weight.shape.length > 1 ? [weight.shape[0]!, weight.shape[1]!] : [tensor.dims[0]!, 1];
  const vector = weight.shape.length === 1 && interleaved === null;
  const [count, length] = vector ? [1, rows] : [rows, inner];
  const rowBytes = (length / layout.elements) * layout.bytes;
  const step = interleaved ?? 1;
  const most = step * Math.max(1, Math.floor(CHUNK_BYTES / (4 * length * step)));
  const handle = await openFile(file);
  try {
    for (let row = 0; row < count; row += most) {
      const byteLength = Math.min(most, count - row) * rowBytes;
      const offset = tensor.offset + row * rowBytes;
      const stored = await readTensor(handle, { file, name: tensor.name, offset, byteLength });
      yield interleaved === null ? stored : halvesApart(stored, interleaved, rowBytes);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Restores the order of rows in each head: GGUF has row i of the first half beside row i of the second
 * (llama.cpp, conversion/llama.py `permute`).
 */
function halvesApart(rows: Uint8Array, headDim: number, rowBytes: number): Uint8Array {
  const ordered = new Uint8Array(rows.length);
  const half = headDim / 2;
  for (let row = 0; row < rows.length / rowBytes; row += 1) {
    const [head, within] = [Math.floor(row / headDim), row % headDim];
    const source = head * headDim + (within < half ? 2 * within : 2 * (within - half) + 1);
    ordered.set(rows.subarray(source * rowBytes, (source + 1) * rowBytes), row * rowBytes);
  }
  return ordered;
}
