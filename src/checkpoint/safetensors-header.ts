import { ModelError, show } from '../files/file-errors.js';
import { decodeJson, isRecord } from '../files/json.js';
import type { StoredType } from './elements.js';

export interface HeaderEntry {
  readonly name: string;
  /** Name of the type in the file: `F32`, `I64`, ... */
  readonly dtype: string;
  /** Null for a dtype that weights cannot have. */
  readonly type: StoredType | null;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Bytes before the header: its length, as a little-endian u64. */
export const PREFIX = 8;
/** 100,000 tensors take 20 MB. The reference implementation takes 100 MB. */
const MAX_HEADER = 2 ** 25;
/** Values and names in the JSON: 13 for a matrix. */
const MAX_VALUES = 2 ** 21;

export const DTYPES = { fp32: 'F32', bf16: 'BF16', fp16: 'F16' } as const satisfies Record<
  StoredType,
  string
>;
const STORED_TYPES = new Map<string, StoredType>([
  ['F32', 'fp32'],
  ['BF16', 'bf16'],
  ['F16', 'fp16'],
]);

/** Bits of an element, which the names of types tell: `BF16`, `F8_E4M3`, `C64`. Types invented later pass with their size unchecked. */
const bitsOf = (dtype: string): number =>
  dtype === 'BOOL' ? 8 : Number(/^(?:[UIFC]|BF)(4|6|8|16|32|64)(?:_E|$)/.exec(dtype)?.[1]);

/**
 * Reads the first 8 bytes of a safetensors file.
 *
 * @throws ModelError for a header that is empty, too large or does not fit into the file
 */
export function parseHeaderLength(prefix: Uint8Array, fileSize: number, file: string): number {
  if (prefix.length < PREFIX)
    throw new ModelError(file, 'header length', `the file ends after ${fileSize} bytes`);
  // A u64 can exceed 2^53, where a number would round it into range.
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
  if (length === 0n) throw new ModelError(file, 'header length', 'is 0');
  if (length > MAX_HEADER)
    throw new ModelError(file, 'header length', `${length} exceeds ${MAX_HEADER} bytes`);
  if (length > fileSize - PREFIX) {
    throw new ModelError(file, 'header length', `${length} does not fit into a file of ${fileSize} bytes`);
  }
  return Number(length);
}

/**
 * Reads a safetensors header. The format: https://github.com/huggingface/safetensors#format
 *
 * @param bytes the header's JSON
 * @param fileSize of the whole file, in bytes
 * @param headerLength in bytes, without the 8 that state it
 * @param file for messages
 * @throws ModelError naming the tensor whose entry is malformed, overlaps another, leaves a hole or leaves the file, and
 *   for a header with too many values
 */
export function parseHeader(
  bytes: Uint8Array,
  fileSize: number,
  headerLength: number,
  file: string,
): HeaderEntry[] {
  const header = decodeJson(bytes, file, 'header', MAX_VALUES);
  if (!isRecord(header)) throw new ModelError(file, 'header', `expected an object, found ${show(header)}`);
  const dataStart = PREFIX + headerLength;
  const entries = Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, value]) => parseEntry(name, value, dataStart, file));

  // "The byte buffer needs to be entirely indexed, and cannot contain holes."
  let end = dataStart;
  for (const entry of entries.toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)) {
    if (entry.offset !== end) {
      const problem = entry.offset < end ? 'overlaps the tensor before it' : 'leaves a gap before it';
      throw new ModelError(file, `${entry.name}.data_offsets`, `${entry.offset - dataStart} ${problem}`);
    }
    end += entry.byteLength;
    if (end > fileSize) {
      const available = fileSize - dataStart;
      const problem = `${end - dataStart} is past the end, ${available}`;
      throw new ModelError(file, `${entry.name}.data_offsets`, problem);
    }
  }
  if (end !== fileSize)
    throw new ModelError(file, 'header', `leaves ${fileSize - end} bytes at the end unused`);
  return entries;
}

function parseEntry(name: string, value: unknown, dataStart: number, file: string): HeaderEntry {
  const refuse = (field: string, problem: string): never => {
    const tensor = name === '' ? '""' : name; // an empty name must not read as "the whole file"
    throw new ModelError(file, field === '' ? tensor : `${tensor}.${field}`, problem);
  };
  if (!isRecord(value)) return refuse('', `expected an object, found ${show(value)}`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== 'string') return refuse('dtype', `expected a string, found ${show(dtype)}`);
  if (!isSizes(shape)) return refuse('shape', `expected sizes, found ${show(shape)}`);
  if (!isSizes(offsets)) return refuse('data_offsets', `expected two offsets, found ${show(offsets)}`);
  const [begin, end] = offsets;
  if (begin === undefined || end === undefined || offsets.length !== 2 || end < begin) {
    return refuse('data_offsets', `expected [begin, end], found ${show(offsets)}`);
  }
  const byteLength = end - begin;
  const bits = bitsOf(dtype);
  const elements = shape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(elements)) return refuse('shape', `${show(shape)} is too large`);
  if (!Number.isNaN(bits) && (elements * bits) / 8 !== byteLength) {
    return refuse(
      'data_offsets',
      `span ${byteLength} bytes, ${dtype} ${show(shape)} needs ${(elements * bits) / 8}`,
    );
  }
  return { name, dtype, type: STORED_TYPES.get(dtype) ?? null, shape, offset: dataStart + begin, byteLength };
}

function isSizes(value: unknown): value is readonly number[] {
  const isSize = (size: unknown) => typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
  return Array.isArray(value) && value.every(isSize);
}
