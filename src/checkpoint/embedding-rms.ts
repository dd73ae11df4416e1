import { type FileHandle, open } from 'node:fs/promises';
import { ModelError, reasonOf } from '../files/errors.js';
import type { StoredType } from './config.js';
import type { StoredTensor, TensorIndex } from './safetensors.js';
import { EMBEDDING } from './weights.js';

/** Bytes read at once, a multiple of every element size. */
const CHUNK = 1 << 20;

/**
 * Root mean square of the embedding matrix as stored, all rows alike: the unit of a perturbation that is to mean the
 * same for models whose embeddings differ in size. Reads the file in chunks; the sum is in float64.
 *
 * @throws ModelError where the file cannot be read, or the matrix contains NaN or infinity
 */
export async function embeddingRms(tensors: TensorIndex): Promise<number> {
  const tensor = tensors.get(EMBEDDING);
  if (!tensor) throw new Error(`checkpoint: no tensor ${EMBEDDING}`);
  const { file } = tensor;
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const squares = await sumOfSquares(handle, tensor);
    const rms = Math.sqrt(squares / (tensor.byteLength / ELEMENT_BYTES[tensor.type]));
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
  const squares = SQUARES[type]();
  const buffer = new Uint8Array(CHUNK);
  let sum = 0;
  for (let at = 0; at < byteLength; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(CHUNK, byteLength - at), offset + at);
    const whole = bytesRead - (bytesRead % ELEMENT_BYTES[type]);
    if (whole === 0) throw new ModelError(file, EMBEDDING, 'ends before its last element');
    sum += squares(buffer.subarray(0, whole));
    at += whole;
  }
  return sum;
}

const ELEMENT_BYTES: Readonly<Record<StoredType, number>> = { fp32: 4, bf16: 2, fp16: 2 };

/** Σ x² of some elements. Like the runtime, this takes the machine to be little-endian, as the files are. */
const SQUARES: Readonly<Record<StoredType, () => (bytes: Uint8Array) => number>> = {
  fp32: () => (bytes) => {
    let sum = 0;
    for (const x of new Float32Array(bytes.buffer, 0, bytes.length / 4)) sum += x * x;
    return sum;
  },
  bf16: () => tabulated((bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0]!),
  fp16: () => tabulated(fromFloat16),
};

/** Of 16-bit elements there are so few that each is converted once. */
function tabulated(decode: (bits: number) => number): (bytes: Uint8Array) => number {
  const table = Float64Array.from({ length: 1 << 16 }, (_, bits) => decode(bits) ** 2);
  return (bytes) => {
    let sum = 0;
    for (const bits of new Uint16Array(bytes.buffer, 0, bytes.length / 2)) sum += table[bits]!;
    return sum;
  };
}

/** IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction. */
function fromFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -14 : sign * (1 + fraction) * 2 ** (exponent - 15);
}
