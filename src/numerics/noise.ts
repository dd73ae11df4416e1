import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/** Coordinates of noise. All are 32-bit integers. */
export interface NoiseCoordinates {
  readonly seed: number;
  /** Index of the draw, of the many that one text gets. */
  readonly replica: number;
  /** Position in the text, 0-based. */
  readonly position: number;
  /** Distinguishes noises of the same replica and position: the layer, for example. Default 0. */
  readonly tag?: number;
}

/**
 * Independent draws from N(0, 1), a pure function of the coordinates: a position keeps its noise however the text
 * grows or is cut, and whatever was drawn before. A longer array begins with the shorter one.
 *
 * Marsaglia's polar method on xoroshiro128+, whose whole state is hashed from the coordinates: seeded with one
 * small integer its first draws would hardly depend on it.
 *
 * @example
 * const noise = standardNormals({ seed: 1, replica: 3, position: 17 }, hiddenSize);
 */
export function standardNormals(
  { seed, replica, position, tag = 0 }: NoiseCoordinates,
  length: number,
): Float32Array {
  const generator = xoroshiro128plusFromState(
    STARTS.map((start) => mix(mix(mix(mix(start ^ seed) ^ replica) ^ position) ^ tag)),
  );
  const normals = new Float32Array(length);
  let i = 0;
  while (i < length) {
    // x and y are midpoints of 2³² equal cells of (−1, 1): symmetric, and never both zero.
    const x = (generator.next() + 0.5) * 2 ** -31;
    const y = (generator.next() + 0.5) * 2 ** -31;
    const square = x * x + y * y;
    if (square >= 1) continue;
    const scale = Math.sqrt((-2 * Math.log(square)) / square);
    normals[i++] = x * scale;
    if (i < length) normals[i++] = y * scale;
  }
  return normals;
}

/** First hexadecimal digits of π: four hashes that differ, one for each word of the generator's state. */
const STARTS = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];

/** A 32-bit integer that depends on every bit of all of them. */
export const hash32 = (...words: readonly number[]): number =>
  words.reduce((hash, word) => mix(hash ^ word), STARTS[0]!);

/** The finaliser of MurmurHash3 (Appleby, public domain): a bijection of 32-bit integers, each bit depends on all. */
function mix(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
