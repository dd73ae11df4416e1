import type { FileHandle } from 'node:fs/promises';
import { ModelError } from '../files/file-errors.js';
import { decodeElements, ELEMENT_BYTES } from './elements.js';
import { type FilePlace, type PackedRows, packedRowBytes, unpackRows } from './packed.js';
import { openFile, readTensor } from './read-file.js';
import { EMBEDDING, type Weight, type Weights } from './weights.js';

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
  const handles = new Map<string, FileHandle>();
  const read = async ({ file, offset }: FilePlace, byteLength: number): Promise<Uint8Array> => {
    const handle = handles.get(file) ?? (await openFile(file));
    handles.set(file, handle);
    return readTensor(handle, { file, name: weight.name, offset, byteLength });
  };
  try {
    const order = weight.type === 'packed' ? weight.places.order : undefined;
    const columns = order && new Int32Array((await read(order, 8 * inner)).buffer).subarray(inner);
    for (let row = 0; row < rows; row += most) {
      const count = Math.min(most, rows - row);
      if (weight.type === 'packed') {
        const parts: PackedRows = {};
        for (const [part, size] of packedRowBytes(inner, weight.format)) {
          const { file, offset } = weight.places[part]!;
          parts[part] = await read({ file, offset: offset + row * size }, count * size);
        }
        const values = unpackRows(weight.format, parts);
        yield columns ? values.map((_, i) => values[i - (i % inner) + columns[i % inner]!]!) : values;
      } else {
        const size = inner * ELEMENT_BYTES[weight.type];
        const { file, offset } = weight;
        yield decodeElements(weight.type, await read({ file, offset: offset + row * size }, count * size));
      }
    }
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
}

/**
 * Root mean square of the embeddings as they enter the first layer, all rows alike: the unit of a perturbation that is to mean the
 * same for models whose embeddings differ in size. Reads the file in chunks; the sum is in float64.
 *
 * @param scale what the stored embeddings are multiplied by
 * @throws ModelError where the file cannot be read, or the matrix contains NaN or infinity
 */
export async function embeddingRms(tensors: Weights, scale = 1): Promise<number> {
  const tensor = tensors.get(EMBEDDING);
  if (!tensor) throw new Error(`checkpoint: no tensor ${EMBEDDING}`);
  const { file, shape } = tensor;
  let squares = 0;
  for await (const values of weightValues(tensor)) for (const x of values) squares += x * x;
  const rms = scale * Math.sqrt(squares / shape.reduce((product, size) => product * size, 1));
  if (!Number.isFinite(rms)) throw new ModelError(file, EMBEDDING, 'contains NaN or infinity');
  return rms;
}
