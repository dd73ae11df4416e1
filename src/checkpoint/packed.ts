import { decodeElements, E4M3, ELEMENT_BYTES, type StoredType } from './elements.js';
import { DTYPES } from './safetensors-header.js';
import type { PlannedTensor } from './safetensors-plan.js';

/**
 * How a matrix is stored in integers: w = scale · (q − zero) + offset, with a scale and an offset for each block of
 * inputs. Q4_K of GGUF, for example, has integers of 4 bits in blocks of 32; scale and offset are whole numbers of 6
 * bits times a half-precision number, which 8 blocks share.
 */
export interface PackedFormat {
  /** Bits of an integer. Two of 4 bits share a byte, the first in its low half. */
  readonly bits: 4 | 8;
  /** What is stored in place of integers: numbers of 8 bits in floating point, without zero and offset. */
  readonly float?: 'e4m3';
  /** Whether the inputs are stored in another order, which the part `order` tells. */
  readonly ordered?: boolean;
  readonly zero: number;
  /** Inputs that share a scale. What the last block of a row lacks is stored as zeros. */
  readonly block: number;
  /** Blocks that share a unit. */
  readonly group: number;
  /** Type of the units. */
  readonly type: StoredType;
  /** Whether scales are factors times units, or the units themselves. */
  readonly scales: 'factors' | 'units';
  /** The same of offsets, if there are any. */
  readonly offsets: 'factors' | 'units' | null;
}

/**
 * Parts of a packed matrix. Each has its rows in the order of the matrix, but for `order`, int32 `[2, in]`: the input of
 * each stored column, and the stored column of each input.
 */
const PACKED_PARTS = [
  'order',
  'integers',
  'scale_factors',
  'scale_units',
  'offset_factors',
  'offset_units',
] as const;
export type PackedPart = (typeof PACKED_PARTS)[number];
type RowPart = Exclude<PackedPart, 'order'>;
const ROW_PARTS = PACKED_PARTS.filter((part) => part !== 'order');

/** Bytes of the parts of some rows. */
export type PackedRows = Partial<Record<PackedPart, Uint8Array>>;

/** Where bytes lie; the offset is from the start of the file. */
export interface FilePlace {
  readonly file: string;
  readonly offset: number;
}

/** A matrix `[out, in]` in integers, where its parts lie in files. */
export interface PackedTensor {
  readonly name: string;
  readonly type: 'packed';
  readonly shape: readonly [out: number, inner: number];
  /** Named in messages. */
  readonly file: string;
  readonly format: PackedFormat;
  readonly places: Readonly<Partial<Record<PackedPart, FilePlace>>>;
  /** Of all parts that have rows. */
  readonly byteLength: number;
}

/** Shape of a part of a matrix, without its rows; `null` for one that the format does not have. */
function partShape(part: RowPart, inner: number, format: PackedFormat): readonly number[] | null {
  const { bits, block, group } = format;
  const blocks = Math.ceil(inner / block);
  const units = blocks / group;
  const kind = part.startsWith('scale') ? format.scales : format.offsets;
  if (part === 'integers') return [(blocks * block * bits) / 8];
  if (kind === null || (part.endsWith('factors') && kind === 'units')) return null;
  return part.endsWith('factors') ? [units, group] : [units];
}

/** Bytes of one row of each part of the format. */
export function packedRowBytes(inner: number, format: PackedFormat): ReadonlyMap<RowPart, number> {
  const bytes = new Map<RowPart, number>();
  for (const part of ROW_PARTS) {
    const shape = partShape(part, inner, format);
    const size = part.endsWith('units') ? ELEMENT_BYTES[format.type] : 1;
    if (shape)
      bytes.set(
        part,
        shape.reduce((product, each) => product * each, size),
      );
  }
  return bytes;
}

/** Bytes of all parts of a matrix that have rows. */
export function packedBytes([out, inner]: readonly [number, number], format: PackedFormat): number {
  let bytes = 0;
  for (const size of packedRowBytes(inner, format).values()) bytes += out * size;
  return bytes;
}

/** The parts of a matrix as tensors of a safetensors file. */
export function plannedParts(
  name: string,
  [out, inner]: readonly [number, number],
  format: PackedFormat,
): Map<PackedPart, PlannedTensor> {
  const planned = new Map<PackedPart, PlannedTensor>();
  if (format.ordered) planned.set('order', { name: `${name}.order`, dtype: 'I32', shape: [2, inner] });
  for (const part of ROW_PARTS) {
    const shape = partShape(part, inner, format);
    const dtype = part === 'integers' ? 'U8' : part.endsWith('units') ? DTYPES[format.type] : 'I8';
    if (shape) planned.set(part, { name: `${name}.${part}`, dtype, shape: [out, ...shape] });
  }
  return planned;
}

export function packedRows(tensor: PackedTensor, from: number, count: number): PackedTensor {
  const { name, shape, format } = tensor;
  if (from === 0 && count === shape[0]) return tensor;
  const bytes = packedRowBytes(shape[1], format);
  const places = { ...tensor.places };
  for (const [part, size] of bytes) {
    const { file, offset } = places[part]!;
    places[part] = { file, offset: offset + from * size };
  }
  const some = [count, shape[1]] as const;
  const byteLength = packedBytes(some, format);
  return { ...tensor, name: `${name}[${from}:${from + count}]`, shape: some, places, byteLength };
}

/** The values of some rows, from the bytes of their parts, in the order in which they are stored. */
export function unpackRows(format: PackedFormat, rows: PackedRows): Float32Array {
  const { bits, zero, block, float } = format;
  const integers = rows.integers!;
  const values = new Float32Array((integers.length * 8) / bits);
  const blocks = values.length / block;
  const scales = blockNumbers(format, format.scales, rows.scale_factors, rows.scale_units);
  const offsets =
    format.offsets && blockNumbers(format, format.offsets, rows.offset_factors, rows.offset_units);
  for (let b = 0; b < blocks; b += 1) {
    const [scale, offset] = [scales[b]!, offsets ? offsets[b]! : -0]; // x − 0 is x, also of −0
    for (let i = b * block; i < (b + 1) * block; i += 1) {
      const stored = bits === 8 ? integers[i]! : (integers[i >> 1]! >> (4 * (i & 1))) & 15;
      const q = float ? E4M3[stored]! : stored;
      values[i] = scale * (q - zero) + offset;
    }
  }
  return values;
}

/** Scales or offsets of all blocks. */
function blockNumbers(
  { group, type }: PackedFormat,
  kind: 'factors' | 'units',
  factors: Uint8Array | undefined,
  units: Uint8Array | undefined,
): Float64Array {
  const shared = decodeElements(type, units!);
  const signed =
    kind === 'factors' ? new Int8Array(factors!.buffer, factors!.byteOffset, factors!.length) : null;
  return Float64Array.from(
    { length: shared.length * group },
    (_, i) => (signed ? signed[i]! : 1) * shared[Math.floor(i / group)]!,
  );
}
