import { ModelError } from '../../files/errors.js';
import type { StoredType } from '../config.js';
import { allFinite, CHUNK_BYTES, type ConvertedWeight } from '../conversion.js';
import { openWeights } from '../weights-file.js';
import type { GgufWeight } from './weights.js';

/** Weights of F32, F16 and BF16 as they are, others unpacked to fp32. Throws ModelError for those that are not finite. */
export const unpackedGguf = (weight: GgufWeight, file: string): ConvertedWeight => ({
  ...{ name: weight.name, shape: weight.shape, type: keptType(weight) },
  chunks: () => unpackedRows(weight, file),
});

/** Type of a weight after unpacking: the file's own type, or fp32 if it is computed. */
export const keptType = ({ layout: { native }, offset }: GgufWeight): StoredType =>
  offset === 0 ? (native ?? 'fp32') : 'fp32';

/** A weight in the bytes of the checkpoint, whole heads at a time where they are interleaved. */
async function* unpackedRows(weight: GgufWeight, file: string): AsyncGenerator<Uint8Array> {
  const { tensor, layout, interleaved } = weight;
  // Each element of a vector of biases is a row.
  const [rows, inner] = weight.shape.length > 1 ? [weight.shape[0]!, weight.shape[1]!] : [tensor.dims[0]!, 1];
  const vector = weight.shape.length === 1 && interleaved === null;
  const [count, length] = vector ? [1, rows] : [rows, inner];
  const rowBytes = (length / layout.elements) * layout.bytes;
  const step = interleaved ?? 1;
  const most = step * Math.max(1, Math.floor(CHUNK_BYTES / (4 * length * step)));
  const from = await openWeights(file);
  try {
    for (let row = 0; row < count; row += most) {
      const stored = new Uint8Array(Math.min(most, count - row) * rowBytes);
      const { bytesRead } = await from.read(stored, 0, stored.length, tensor.offset + row * rowBytes);
      if (bytesRead < stored.length) throw new ModelError(file, tensor.name, 'ends before its last element');
      const values = layout.decode(stored);
      if (!allFinite(values)) throw new ModelError(file, tensor.name, 'contains NaN or infinity');
      if (weight.offset !== 0) for (const [i, value] of values.entries()) values[i] = value - weight.offset;
      const kept = layout.native !== null && weight.offset === 0;
      const bytes = kept ? stored : new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      yield interleaved === null
        ? bytes
        : halvesApart(bytes, interleaved, bytes.length / (values.length / length));
    }
  } finally {
    await from.close();
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
