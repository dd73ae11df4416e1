import { open } from 'node:fs/promises';
import { ModelError, reasonOf } from '../files/errors.js';
import { decodeElements, ELEMENT_BYTES } from './elements.js';
import { readPackedRows } from './packed.js';
import type { StoredTensor } from './safetensors.js';
import { EMBEDDING, type Weight, type Weights } from './weights.js';

/** Bytes read at once, a multiple of every element size. */
const CHUNK = 1 << 20;

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
  try {
    let squares = 0;
    for await (const values of valuesOf(tensor)) for (const x of values) squares += x * x;
    const rms = scale * Math.sqrt(squares / shape.reduce((product, size) => product * size, 1));
    if (!Number.isFinite(rms)) throw new ModelError(file, EMBEDDING, 'contains NaN or infinity');
    return rms;
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(file, EMBEDDING, `cannot be read (${reasonOf(cause)})`, { cause });
  }
}

const valuesOf = (tensor: Weight): AsyncIterable<Float32Array> =>
  tensor.type === 'packed' ? readPackedRows(tensor) : storedValues(tensor);

async function* storedValues({ type, file, offset, byteLength }: StoredTensor): AsyncGenerator<Float32Array> {
  const buffer = new Uint8Array(CHUNK);
  const handle = await open(file);
  try {
    for (let at = 0; at < byteLength; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(CHUNK, byteLength - at), offset + at);
      const whole = bytesRead - (bytesRead % ELEMENT_BYTES[type]);
      if (whole === 0) throw new ModelError(file, EMBEDDING, 'ends before its last element');
      yield decodeElements(type, buffer.subarray(0, whole));
      at += whole;
    }
  } finally {
    await handle.close();
  }
}
