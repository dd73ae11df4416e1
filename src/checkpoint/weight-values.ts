import { ModelError } from '../files/errors.js';
import { decodeElements, ELEMENT_BYTES } from './elements.js';
import { type PackedRows, packedRowBytes, unpackRows } from './packed.js';
import type { Weight } from './weights.js';
import { openWeights } from './weights-file.js';

/** Values that are read at once, about. */
const CHUNK = 1 << 22;

/**
 * The values of a weight, some whole rows at a time; a vector is one row.
 * @throws ModelError where the file ends too early or cannot be read any more
 */
export async function* weightValues(weight: Weight): AsyncGenerator<Float32Array> {
  const [rows, inner] =
    weight.shape.length > 1 ? [weight.shape[0]!, weight.shape[1]!] : [1, weight.shape[0]!];
  const most = Math.max(1, Math.floor(CHUNK / inner));
  const handle = await openWeights(weight.file);
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
    if (bytesRead < length) throw new ModelError(weight.file, weight.name, 'ends before its last element');
    return buffer;
  };
  try {
    for (let row = 0; row < rows; row += most) {
      const count = Math.min(most, rows - row);
      if (weight.type === 'packed') {
        const parts: PackedRows = {};
        for (const [part, size] of packedRowBytes(inner, weight.format)) {
          parts[part] = await read(weight.offsets[part]! + row * size, count * size);
        }
        yield unpackRows(weight.format, parts);
      } else {
        const size = inner * ELEMENT_BYTES[weight.type];
        yield decodeElements(weight.type, await read(weight.offset + row * size, count * size));
      }
    }
  } finally {
    await handle.close();
  }
}
