import { type FileHandle, open } from 'node:fs/promises';
import { ModelError, reasonOf } from '../files/errors.js';
import { decodeElements, ELEMENT_BYTES } from './elements.js';
import type { StoredTensor, TensorIndex } from './safetensors.js';
import { EMBEDDING } from './weights.js';

/** Bytes read at once, a multiple of every element size. */
const CHUNK = 1 << 20;

/**
 * Root mean square of the embeddings as they enter the first layer, all rows alike: the unit of a perturbation that is to mean the
 * same for models whose embeddings differ in size. Reads the file in chunks; the sum is in float64.
 *
 * @param scale what the stored embeddings are multiplied by
 * @throws ModelError where the file cannot be read, or the matrix contains NaN or infinity
 */
export async function embeddingRms(tensors: TensorIndex, scale = 1): Promise<number> {
  const tensor = tensors.get(EMBEDDING);
  if (!tensor) throw new Error(`checkpoint: no tensor ${EMBEDDING}`);
  const { file } = tensor;
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const squares = await sumOfSquares(handle, tensor);
    const rms = scale * Math.sqrt(squares / (tensor.byteLength / ELEMENT_BYTES[tensor.type]));
    if (!Number.isFinite(rms)) throw new ModelError(file, EMBEDDING, 'contains NaN or infinity');
    return rms;
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(file, EMBEDDING, `cannot be read (${reasonOf(cause)})`, { cause });
  } finally {
    await handle?.close();
  }
}

async function sumOfSquares(handle: FileHandle, tensor: StoredTensor): Promise<number> {
  const { type, file, offset, byteLength } = tensor;
  const buffer = new Uint8Array(CHUNK);
  let sum = 0;
  for (let at = 0; at < byteLength; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(CHUNK, byteLength - at), offset + at);
    const whole = bytesRead - (bytesRead % ELEMENT_BYTES[type]);
    if (whole === 0) throw new ModelError(file, EMBEDDING, 'ends before its last element');
    for (const x of decodeElements(type, buffer.subarray(0, whole))) sum += x * x;
    at += whole;
  }
  return sum;
}
