import type { StoredType } from '../config.js';
import { decodeElements } from '../elements.js';

/** How a type's elements are stored: in blocks of so many, of so many bytes. */
export interface GgufLayout {
  readonly elements: number;
  readonly bytes: number;
  /** The type in which its values are kept exactly, and the bytes are the same; `null` where they are unpacked to fp32. */
  readonly native: StoredType | null;
  /** Unpacks whole blocks. The values are those of ggml's own rule, to the last bit. */
  readonly decode: (blocks: Uint8Array) => Float32Array;
}

export interface GgufType {
  readonly name: string;
  /** `null` for a type that is not read. */
  readonly layout: GgufLayout | null;
}

const native = (type: StoredType, bytes: number): GgufLayout => ({
  ...{ elements: 1, bytes, native: type },
  decode: (blocks) => decodeElements(type, blocks),
});

/** @param unpack writes the values of the block that begins at `at` to `out`, from `to` on */
const packed = (
  elements: number,
  bytes: number,
  unpack: (blocks: Blocks, at: number, out: Float32Array, to: number) => void,
): GgufLayout => ({
  ...{ elements, bytes, native: null },
  decode: (bytesOfBlocks) => {
    const blocks = new Blocks(bytesOfBlocks);
    const count = bytesOfBlocks.length / bytes;
    const out = new Float32Array(count * elements);
    for (let block = 0; block < count; block += 1) unpack(blocks, block * bytes, out, block * elements);
    return out;
  },
});

/** Bytes of which pairs are half-precision numbers. */
class Blocks {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
  half(at: number): number {
    return HALVES[this.bytes[at]! | (this.bytes[at + 1]! << 8)]!;
  }
  byte(at: number): number {
    return this.bytes[at]!;
  }
  signed(at: number): number {
    return (this.bytes[at]! << 24) >> 24;
  }
}

const HALVES = decodeElements(
  'fp16',
  new Uint8Array(Uint16Array.from({ length: 1 << 16 }, (_, i) => i).buffer),
);

/** 32 elements of 4 bits, those of the low halves of 16 bytes first; with a fifth bit from 4 bytes at `high`. */
function unpack32(
  blocks: Blocks,
  { from, high = null }: { readonly from: number; readonly high?: number | null },
  put: (i: number, quant: number) => void,
): void {
  const fifth = (i: number): number =>
    high === null ? 0 : ((blocks.byte(high + (i >> 3)) >> (i & 7)) & 1) << 4;
  for (let i = 0; i < 16; i += 1) {
    const byte = blocks.byte(from + i);
    put(i, (byte & 15) | fifth(i));
    put(i + 16, (byte >> 4) | fifth(i + 16));
  }
}

/** Scale and minimum, of 6 bits each, of the eight groups of a block of Q4_K or Q5_K. */
function groupScale(blocks: Blocks, from: number, group: number): readonly [number, number] {
  const byte = (i: number): number => blocks.byte(from + i);
  if (group < 4) return [byte(group) & 63, byte(group + 4) & 63];
  return [
    (byte(group + 4) & 15) | ((byte(group - 4) >> 6) << 4),
    (byte(group + 4) >> 4) | ((byte(group) >> 6) << 4),
  ];
}

/** Q4_K and Q5_K: 256 elements in groups of 32; two groups share 32 bytes, and all eight the bytes of the fifth bits. */
function unpackGroups(fifthBits: boolean) {
  return (blocks: Blocks, at: number, out: Float32Array, to: number): void => {
    const [d, min] = [blocks.half(at), blocks.half(at + 2)];
    const high = at + 16;
    const low = fifthBits ? high + 32 : high;
    for (let group = 0; group < 8; group += 1) {
      const [scale, minimum] = groupScale(blocks, at + 4, group);
      for (let i = 0; i < 32; i += 1) {
        const nibble = (blocks.byte(low + (group >> 1) * 32 + i) >> (4 * (group & 1))) & 15;
        const fifth = fifthBits ? ((blocks.byte(high + i) >> group) & 1) << 4 : 0;
        out[to + group * 32 + i] = d * scale * (nibble | fifth) - min * minimum;
      }
    }
  };
}

/** 256 elements of 6 bits in groups of 16, each with a scale of 8 bits. */
function unpackQ6K(blocks: Blocks, at: number, out: Float32Array, to: number): void {
  const d = blocks.half(at + 208);
  for (let i = 0; i < 256; i += 1) {
    const [half, part, lane] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = (blocks.byte(at + half * 64 + (part & 1) * 32 + lane) >> (4 * (part >> 1))) & 15;
    const high = (blocks.byte(at + 128 + half * 32 + lane) >> (2 * part)) & 3;
    const scale = Math.fround(d * blocks.signed(at + 192 + (i >> 4)));
    out[to + i] = scale * ((low | (high << 4)) - 32);
  }
}

/** Types by number. Layouts: `ggml-common.h` and `ggml-quants.c` of ggml. */
const TYPES = new Map<number, GgufType>(
  Object.entries({
    0: { name: 'F32', layout: native('fp32', 4) },
    1: { name: 'F16', layout: native('fp16', 2) },
    2: {
      name: 'Q4_0',
      layout: packed(32, 18, (blocks, at, out, to) => {
        const d = blocks.half(at);
        unpack32(blocks, { from: at + 2 }, (i, quant) => {
          out[to + i] = d * (quant - 8);
        });
      }),
    },
    3: {
      name: 'Q4_1',
      layout: packed(32, 20, (blocks, at, out, to) => {
        const [d, min] = [blocks.half(at), blocks.half(at + 2)];
        unpack32(blocks, { from: at + 4 }, (i, quant) => {
          out[to + i] = d * quant + min;
        });
      }),
    },
    6: {
      name: 'Q5_0',
      layout: packed(32, 22, (blocks, at, out, to) => {
        const d = blocks.half(at);
        unpack32(blocks, { from: at + 6, high: at + 2 }, (i, quant) => {
          out[to + i] = d * (quant - 16);
        });
      }),
    },
    7: {
      name: 'Q5_1',
      layout: packed(32, 24, (blocks, at, out, to) => {
        const [d, min] = [blocks.half(at), blocks.half(at + 2)];
        unpack32(blocks, { from: at + 8, high: at + 4 }, (i, quant) => {
          out[to + i] = d * quant + min;
        });
      }),
    },
    8: {
      name: 'Q8_0',
      layout: packed(32, 34, (blocks, at, out, to) => {
        const d = blocks.half(at);
        for (let i = 0; i < 32; i += 1) out[to + i] = d * blocks.signed(at + 2 + i);
      }),
    },
    10: { name: 'Q2_K', layout: null },
    11: { name: 'Q3_K', layout: null },
    12: { name: 'Q4_K', layout: packed(256, 144, unpackGroups(false)) },
    13: { name: 'Q5_K', layout: packed(256, 176, unpackGroups(true)) },
    14: { name: 'Q6_K', layout: packed(256, 210, unpackQ6K) },
    30: { name: 'BF16', layout: native('bf16', 2) },
    39: { name: 'MXFP4', layout: null },
  } satisfies Record<number, GgufType>).map(([id, type]) => [Number(id), type]),
);

/** Names of the types that are read. */
export const GGUF_TYPES: readonly string[] = [...TYPES.values()].flatMap(({ name, layout }) =>
  layout ? [name] : [],
);

export const ggufType = (id: number): GgufType => TYPES.get(id) ?? { name: `type ${id}`, layout: null };
