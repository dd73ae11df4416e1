/** A type of GGUF whose blocks can be drawn: random bytes around scales that are set. */
export interface BlockType {
  /** ggml's number of it. */
  readonly id: number;
  readonly elements: number;
  readonly bytes: number;
  /** The bytes at the beginning of each block of values with this standard deviation. */
  readonly head: (deviation: number) => Uint8Array;
}

/** Deviation of whole numbers from 0 to n − 1 that are equally likely. */
const deviationOf = (n: number): number => Math.sqrt((n * n - 1) / 12);

const half = (value: number): Uint8Array => {
  // A normal number: 10 bits of 1.xxx after 5 bits of exponent, cut off.
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0]!;
  const exponent = ((bits >>> 23) & 255) - 127 + 15;
  if (exponent < 1 || exponent > 30) throw new RangeError(`${value}: is no normal number of 16 bits`);
  return new Uint8Array(Uint16Array.of((exponent << 10) | ((bits >>> 13) & 1023)).buffer);
};

const scaled =
  (levels: number) =>
  (deviation: number): Uint8Array =>
    half(deviation / deviationOf(levels));

/**
 * Every group of 32 has the scale 32 and the minimum 30, of 6 bits each: w = d · 32 · q − 8 d · 30, of mean 0.
 * The four first bytes hold 32 for groups 0 to 3, and above it two bits of 32 for groups 4 to 7; and so on.
 */
const Q4_K_SCALES = Uint8Array.of(0xa0, 0xa0, 0xa0, 0xa0, 0x5e, 0x5e, 0x5e, 0x5e, 0xe0, 0xe0, 0xe0, 0xe0);

/** Layouts: `ggml-common.h` of ggml. */
export const BLOCK_TYPES = {
  Q8_0: { id: 8, elements: 32, bytes: 34, head: scaled(256) },
  Q4_0: { id: 2, elements: 32, bytes: 18, head: scaled(16) },
  Q5_0: { id: 6, elements: 32, bytes: 22, head: scaled(32) },
  Q4_K: {
    id: 12,
    elements: 256,
    bytes: 144,
    head: (deviation) => {
      const d = deviation / (32 * deviationOf(16));
      return Buffer.concat([half(d), half(8 * d), Q4_K_SCALES]);
    },
  },
} as const satisfies Record<string, BlockType>;
