import { decodeElements, type StoredType } from '../elements.js';
import {
  type PackedFormat,
  type PackedPart,
  type PackedRows,
  packedRowBytes,
  unpackRows,
} from '../packed.js';

/** How a type's elements are stored: in blocks of so many, of so many bytes. */
export type GgufLayout = NativeLayout | BlockLayout;

interface NativeLayout {
  readonly elements: 1;
  readonly bytes: number;
  /** The type of the elements, whose bytes are the same in safetensors. */
  readonly native: StoredType;
}

export interface BlockLayout {
  readonly elements: number;
  readonly bytes: number;
  readonly native: null;
  /** Format of the same values, bits of integers and parts of their own. */
  readonly format: PackedFormat;
  /** Brings whole blocks into that format. Nothing is computed: the values are ggml's, to the last bit. */
  readonly pack: (blocks: Uint8Array) => PackedRows;
}

export interface GgufType {
  readonly name: string;
  /** `null` for a type that is not read. */
  readonly layout: GgufLayout | null;
}

/** Unpacks whole blocks. */
export const decodeBlocks = (layout: GgufLayout, blocks: Uint8Array): Float32Array =>
  layout.native === null
    ? unpackRows(layout.format, layout.pack(blocks))
    : decodeElements(layout.native, blocks);

/** A type and its number in the format. */
type Entry = readonly [id: number, type: GgufType];

const unread = (id: number, name: string): Entry => [id, { name, layout: null }];

const native = (id: number, name: string, type: StoredType, bytes: number): Entry => [
  id,
  { name, layout: { elements: 1, bytes, native: type } },
];

/** The parts of some blocks, to be filled; those that the format does not have are empty. */
type Parts = Readonly<Record<PackedPart, Uint8Array>>;

/** Brings block number `block`, which begins at byte `at`, into its parts. */
type Put = (source: Uint8Array, at: number, block: number, to: Parts) => void;

const NOTHING = new Uint8Array();
const NO_PARTS: Parts = {
  order: NOTHING,
  integers: NOTHING,
  scale_factors: NOTHING,
  scale_units: NOTHING,
  offset_factors: NOTHING,
  offset_units: NOTHING,
};

function blocks(id: number, name: string, bytes: number, rest: Omit<PackedFormat, 'type'>, put: Put): Entry {
  const format: PackedFormat = { ...rest, type: 'fp16' };
  const elements = format.block * format.group;
  const pack = (source: Uint8Array): PackedRows => {
    const count = source.length / bytes;
    const rows: PackedRows = {};
    for (const [part, size] of packedRowBytes(elements, format)) rows[part] = new Uint8Array(count * size);
    const to = { ...NO_PARTS, ...rows };
    for (let block = 0; block < count; block += 1) put(source, block * bytes, block, to);
    return rows;
  };
  return [id, { name, layout: { elements, bytes, native: null, format, pack } }];
}

/** A half-precision number: the unit of a block's scales, or of its offsets. */
function unit(units: Uint8Array, block: number, source: Uint8Array, at: number, negative = false): void {
  units[2 * block] = source[at]!;
  units[2 * block + 1] = source[at + 1]! ^ (negative ? 0x80 : 0);
}

/** An integer of 8 bits is kept plus this: `MatMulNBits` takes it for 0. */
const ZERO = 128;

/** Elements of 4 bits, those of the low halves of so many bytes first: neighbours into one byte. */
function pairs(source: Uint8Array, from: number, bytes: 16 | 32, out: Uint8Array, to: number): void {
  const half = bytes / 2;
  for (let i = 0; i < half; i += 1) {
    const [a, b] = [source[from + 2 * i]!, source[from + 2 * i + 1]!];
    out[to + i] = (a & 15) | ((b & 15) << 4);
    out[to + half + i] = (a >> 4) | (b & 0xf0);
  }
}

/** 32 elements of 5 bits: four as above, and a fifth from 4 bytes at `high`. */
function fives(
  source: Uint8Array,
  at: { from: number; high: number },
  add: number,
  out: Uint8Array,
  to: number,
) {
  for (let i = 0; i < 16; i += 1) {
    const byte = source[at.from + i]!;
    const low = (source[at.high + (i >> 3)]! >> (i & 7)) & 1;
    const high = (source[at.high + 2 + (i >> 3)]! >> (i & 7)) & 1;
    out[to + i] = add + ((byte & 15) | (low << 4));
    out[to + 16 + i] = add + ((byte >> 4) | (high << 4));
  }
}

/** Scales and minima, of 6 bits each, of the eight groups of a block of Q4_K or Q5_K. */
function groupScales(source: Uint8Array, from: number, block: number, to: Parts): void {
  const { scale_factors: scales, offset_factors: minima } = to;
  for (let group = 0; group < 4; group += 1) {
    const [a, b, c] = [source[from + group]!, source[from + group + 4]!, source[from + group + 8]!];
    const first = 8 * block + group;
    scales[first] = a & 63;
    minima[first] = b & 63;
    scales[first + 4] = (c & 15) | ((a >> 6) << 4);
    minima[first + 4] = (c >> 4) | ((b >> 6) << 4);
  }
}

const SMALL = { bits: 8, block: 32, group: 1, scales: 'units', offsets: null, zero: ZERO } as const;
const SUPER = { ...SMALL, group: 8, scales: 'factors', offsets: 'factors' } as const;

/** Types by number; those without a layout are not read. Layouts: `ggml-common.h` and `ggml-quants.c` of ggml. */
const TYPES: ReadonlyMap<number, GgufType> = new Map([
  native(0, 'F32', 'fp32', 4),
  native(1, 'F16', 'fp16', 2),
  blocks(2, 'Q4_0', 18, { ...SMALL, bits: 4, zero: 8 }, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    pairs(source, at + 2, 16, to.integers, 16 * block);
  }),
  blocks(3, 'Q4_1', 20, { ...SMALL, bits: 4, zero: 0, offsets: 'units' }, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    unit(to.offset_units, block, source, at + 2);
    pairs(source, at + 4, 16, to.integers, 16 * block);
  }),
  blocks(6, 'Q5_0', 22, SMALL, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    fives(source, { from: at + 6, high: at + 2 }, ZERO - 16, to.integers, 32 * block);
  }),
  blocks(7, 'Q5_1', 24, { ...SMALL, offsets: 'units' }, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    unit(to.offset_units, block, source, at + 2);
    fives(source, { from: at + 8, high: at + 4 }, ZERO, to.integers, 32 * block);
  }),
  blocks(8, 'Q8_0', 34, SMALL, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    for (let i = 0; i < 32; i += 1) to.integers[32 * block + i] = source[at + 2 + i]! ^ ZERO;
  }),
  blocks(12, 'Q4_K', 144, { ...SUPER, bits: 4, zero: 0 }, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    unit(to.offset_units, block, source, at + 2, true);
    groupScales(source, at + 4, block, to);
    // Two groups share 32 bytes.
    for (let pair = 0; pair < 4; pair += 1) {
      pairs(source, at + 16 + 32 * pair, 32, to.integers, 128 * block + 32 * pair);
    }
  }),
  blocks(13, 'Q5_K', 176, SUPER, (source, at, block, to) => {
    unit(to.scale_units, block, source, at);
    unit(to.offset_units, block, source, at + 2, true);
    groupScales(source, at + 4, block, to);
    // All eight groups share the 32 bytes of the fifth bits.
    for (let group = 0; group < 8; group += 1) {
      const [from, shift] = [at + 48 + 32 * (group >> 1), 4 * (group & 1)];
      for (let i = 0; i < 32; i += 1) {
        const fifth = (source[at + 16 + i]! >> group) & 1;
        to.integers[256 * block + 32 * group + i] =
          ZERO + (((source[from + i]! >> shift) & 15) | (fifth << 4));
      }
    }
  }),
  blocks(14, 'Q6_K', 210, { ...SUPER, block: 16, group: 16, offsets: null }, (source, at, block, to) => {
    unit(to.scale_units, block, source, at + 208);
    to.scale_factors.set(source.subarray(at + 192, at + 208), 16 * block);
    for (let half = 0; half < 2; half += 1) {
      const [from, out] = [at + 64 * half, 256 * block + 128 * half];
      for (let i = 0; i < 32; i += 1) {
        const [a, b] = [source[from + i]!, source[from + 32 + i]!];
        const high = source[at + 128 + 32 * half + i]!;
        to.integers[out + i] = ZERO - 32 + ((a & 15) | ((high & 3) << 4));
        to.integers[out + 32 + i] = ZERO - 32 + ((b & 15) | (((high >> 2) & 3) << 4));
        to.integers[out + 64 + i] = ZERO - 32 + ((a >> 4) | (((high >> 4) & 3) << 4));
        to.integers[out + 96 + i] = ZERO - 32 + ((b >> 4) | ((high >> 6) << 4));
      }
    }
  }),
  native(30, 'BF16', 'bf16', 2),
  unread(10, 'Q2_K'),
  unread(11, 'Q3_K'),
  unread(39, 'MXFP4'),
]);

/** Names of the types that are read. */
export const GGUF_TYPES: readonly string[] = [...TYPES.values()]
  .filter(({ layout }) => layout !== null)
  .map(({ name }) => name);

export const ggufType = (id: number): GgufType => TYPES.get(id) ?? { name: `type ${id}`, layout: null };
