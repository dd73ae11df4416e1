import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError, reasonOf } from '../../files/errors.js';
import { isMissing } from '../../files/json.js';
import type { StoredType } from '../config.js';
import { ELEMENT_BYTES } from '../elements.js';
import {
  isWhole,
  planSafetensors,
  replaceFile,
  type SafetensorsPlan,
  writeAll,
} from '../safetensors-file.js';
import type { GgufWeight } from './weights.js';

/** Of the folder's contents: one of another is made again. */
const FORMAT = 'flinch gguf 1';
/** Written at once, about. */
const CHUNK_BYTES = 1 << 24;
const DTYPES = { fp32: 'F32', fp16: 'F16', bf16: 'BF16' } as const;

/** How far the weights of a file are unpacked, in bytes that are written. */
export interface Conversion {
  readonly file: string;
  /** Where they go. */
  readonly folder: string;
  readonly written: number;
  readonly total: number;
}

export interface ConversionPlan {
  readonly file: string;
  readonly folder: string;
  readonly weights: readonly GgufWeight[];
  /** Contents by name, beside the weights. */
  readonly texts: Readonly<Record<string, string>>;
  readonly onProgress?: ((progress: Conversion) => void) | undefined;
}

/**
 * Keeps what a GGUF file holds as a checkpoint folder: weights of F32, F16 and BF16 as they are, others unpacked to fp32.
 * A folder that is there and whole is left alone.
 *
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function convertGguf(plan: ConversionPlan): Promise<void> {
  const { folder, weights, texts } = plan;
  const target = join(folder, 'model.safetensors');
  const widest = weights.toSorted((a, b) => ELEMENT_BYTES[keptType(b)] - ELEMENT_BYTES[keptType(a)]);
  const layout = planSafetensors(
    FORMAT,
    widest.map((weight) => ({ ...weight, dtype: DTYPES[keptType(weight)] })),
  );
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(folder, name);
      if ((await contents(file)) !== text) {
        await replaceFile(file, (to) => writeAll(to, new TextEncoder().encode(text), 0));
      }
    }
    if (!(await isWhole(target, layout))) {
      await replaceFile(target, (to) => writeWeights(to, layout, { ...plan, weights: widest }));
    }
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(folder, '', `cannot be written (${reasonOf(cause)})`, { cause });
  }
}

/** In which a weight is kept: the file's own type, or fp32 for what is computed. */
export const keptType = ({ layout: { native }, offset }: GgufWeight): StoredType =>
  offset === 0 ? (native ?? 'fp32') : 'fp32';

async function contents(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

async function writeWeights(to: FileHandle, layout: SafetensorsPlan, plan: ConversionPlan): Promise<void> {
  const { file, folder, weights, onProgress } = plan;
  await writeAll(to, layout.header, 0);
  let written = layout.header.length;
  const from = await openSource(file);
  try {
    for (const weight of weights) {
      for await (const bytes of unpackedRows(from, weight, file)) {
        await writeAll(to, bytes, written);
        written += bytes.byteLength;
        onProgress?.({ file, folder, written, total: layout.byteLength });
      }
    }
  } finally {
    await from.close();
  }
}

async function openSource(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (cause) {
    throw new ModelError(file, '', `cannot be read (${reasonOf(cause)})`, { cause });
  }
}

/** A weight in the bytes of the checkpoint, whole heads at a time where they are interleaved. */
async function* unpackedRows(from: FileHandle, weight: GgufWeight, file: string): AsyncGenerator<Uint8Array> {
  const { tensor, layout, interleaved } = weight;
  // Of a vector of biases each element is a row.
  const [rows, inner] = weight.shape.length > 1 ? [weight.shape[0]!, weight.shape[1]!] : [tensor.dims[0]!, 1];
  const vector = weight.shape.length === 1 && interleaved === null;
  const [count, length] = vector ? [1, rows] : [rows, inner];
  const rowBytes = (length / layout.elements) * layout.bytes;
  const step = interleaved ?? 1;
  const most = step * Math.max(1, Math.floor(CHUNK_BYTES / (4 * length * step)));
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
}

/** A product with 0 is NaN where a value is not finite. */
function allFinite(values: Float32Array): boolean {
  let sum = 0;
  for (const value of values) sum += value * 0;
  return sum === 0;
}

/** Of each head, GGUF has row i of the first half beside row i of the second (llama.cpp, conversion/llama.py `permute`). */
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
