import { decodeElements, type StoredType } from '../elements.js';
import { type PackedFormat, type PackedRows, packedRowBytes, unpackRows } from '../packed.js';

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

const native = (type: StoredType, bytes: number): NativeLayout => ({ elements: 1, bytes, native: type });

/** The parts of some blocks, to be filled. */
class Parts {
  readonly integers: Uint8Array;
  readonly factors: readonly (Uint8Array | undefined)[];
  readonly units: readonly (Uint8Array | undefined)[];
  readonly rows: PackedRows;

  constructor(elements: number, format: PackedFormat, blocks: number) {
    const rows: PackedRows = {};
    for (const [part, bytes] of packedRowBytes(elements, format)) rows[part] = new Uint8Array(blocks * bytes);
    this.rows = rows;
    this.integers = rows.integers!;
    this.factors = [rows.scale_factors, rows.offset_factors];
    this.units = [rows.scale_units, rows.offset_units];
  }

  /** Half-precision numbers of a block: the unit of its scales, and that of its offsets. */
  unit(kind: 0 | 1, block: number, source: Uint8Array, at: number, negative = false): void {
    const units = this.units[kind]!;
    units[2 * block] = source[at]!;
    units[2 * block + 1] = source[at + 1]! ^ (negative ? 0x80 : 0);
  }
}

/** Brings block number `block`, which begins at byte `at`, into its parts. */
type Put = (source: Uint8Array, at: number, block: number, to: Parts) => void;

function blocks(bytes: number, rest: Omit<PackedFormat, 'type'>, put: Put): BlockLayout {
  const format: PackedFormat = { ...rest, type: 'fp16' };
  const elements = format.block * format.group;
  return {
    elements,
    bytes,
    native: null,
    format,
    pack: (source) => {
      const count = source.length / bytes;
      const parts = new Parts(elements, format, count);
      for (let block = 0; block < count; block += 1) put(source, block * bytes, block, parts);
      return parts.rows;
    },
  };
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
function groupScales(source: Uint8Array, from: number, block: number, { factors }: Parts): void {
  const [scales, minima] = [factors[0]!, factors[1]!];
  for (let group = 0; group < 4; group += 1) {
    const [a, b, c] = [source[from + group]!, source[from + group + 4]!, source[from + group + 8]!];
    const to = 8 * block + group;
    scales[to] = a & 63;
    minima[to] = b & 63;
    scales[to + 4] = (c & 15) | ((a >> 6) << 4);
    minima[to + 4] = (c >> 4) | ((b >> 6) << 4);
  }
}

const SMALL = { bits: 8, block: 32, group: 1, scales: 'units', offsets: null, zero: ZERO } as const;
const SUPER = { ...SMALL, group: 8, scales: 'factors', offsets: 'factors' } as const;

/** Types that are read. Layouts: `ggml-common.h` and `ggml-quants.c` of ggml. */
const LAYOUTS = {
  F32: native('fp32', 4),
  F16: native('fp16', 2),
  Q4_0: blocks(18, { ...SMALL, bits: 4, zero: 8 }, (source, at, block, to) => {
    to.unit(0, block, source, at);
    pairs(source, at + 2, 16, to.integers, 16 * block);
  }),
  Q4_1: blocks(20, { ...SMALL, bits: 4, zero: 0, offsets: 'units' }, (source, at, block, to) => {
    to.unit(0, block, source, at);
    to.unit(1, block, source, at + 2);
    pairs(source, at + 4, 16, to.integers, 16 * block);
  }),
  Q5_0: blocks(22, SMALL, (source, at, block, to) => {
    to.unit(0, block, source, at);
    fives(source, { from: at + 6, high: at + 2 }, ZERO - 16, to.integers, 32 * block);
  }),
  Q5_1: blocks(24, { ...SMALL, offsets: 'units' }, (source, at, block, to) => {
    to.unit(0, block, source, at);
    to.unit(1, block, source, at + 2);
    fives(source, { from: at + 8, high: at + 4 }, ZERO, to.integers, 32 * block);
  }),
  Q8_0: blocks(34, SMALL, (source, at, block, to) => {
    to.unit(0, block, source, at);
    for (let i = 0; i < 32; i += 1) to.integers[32 * block + i] = source[at + 2 + i]! ^ ZERO;
  }),
  Q4_K: blocks(144, { ...SUPER, bits: 4, zero: 0 }, (source, at, block, to) => {
    to.unit(0, block, source, at);
    to.unit(1, block, source, at + 2, true);
    groupScales(source, at + 4, block, to);
    // Two groups share 32 bytes.
    for (let pair = 0; pair < 4; pair += 1) {
      pairs(source, at + 16 + 32 * pair, 32, to.integers, 128 * block + 32 * pair);
    }
  }),
  Q5_K: blocks(176, SUPER, (source, at, block, to) => {
    to.unit(0, block, source, at);
    to.unit(1, block, source, at + 2, true);
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
  Q6_K: blocks(210, { ...SUPER, block: 16, group: 16, offsets: null }, (source, at, block, to) => {
    to.unit(0, block, source, at + 208);
    to.factors[0]!.set(source.subarray(at + 192, at + 208), 16 * block);
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
  BF16: native('bf16', 2),
} as const satisfies Record<string, GgufLayout>;

export const GGUF_TYPES: readonly string[] = Object.keys(LAYOUTS);

/** Types by number; those without a layout are not read. */
const TYPES = new Map<number, GgufType>([
  ...(
    [
      [0, 'F32'],
      [1, 'F16'],
      [2, 'Q4_0'],
      [3, 'Q4_1'],
      [6, 'Q5_0'],
      [7, 'Q5_1'],
      [8, 'Q8_0'],
      [12, 'Q4_K'],
      [13, 'Q5_K'],
      [14, 'Q6_K'],
      [30, 'BF16'],
    ] as const
  ).map(([id, name]) => [id, { name, layout: LAYOUTS[name] }] as const),
  [10, { name: 'Q2_K', layout: null }],
  [11, { name: 'Q3_K', layout: null }],
  [39, { name: 'MXFP4', layout: null }],
]);

export const ggufType = (id: number): GgufType => TYPES.get(id) ?? { name: `type ${id}`, layout: null };
