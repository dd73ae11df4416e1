import type * as ort from 'onnxruntime-node';
import type { ModelConfig } from '../checkpoint/config.js';
import { floats } from './ort-session.js';

type CacheShape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>;

const INITIAL_CAPACITY = 128;

/** The smallest doubling of {@link INITIAL_CAPACITY} that holds `length` positions, at most `limit`. */
export function capacityFor(length: number, limit = Number.POSITIVE_INFINITY): number {
  let capacity = INITIAL_CAPACITY;
  while (capacity < length) capacity *= 2;
  return Math.min(capacity, limit);
}

/** The first `count` positions of a cache. */
export interface Past {
  readonly cache: KvCache;
  readonly count: number;
}

/**
 * Keys and values of one sequence: per layer `[positions, kvHeads, headDim]`, so that those of the first positions are one
 * piece of memory, which attention reads where it is. Before them is a key of zeros that no row sees, as graphs expect.
 * A cache only ever appends; setting {@link length} cuts it.
 */
export class KvCache {
  length = 0;
  /** Positions at the beginning that were not written to since this was set: what a copy elsewhere still has. */
  intact = 0;
  readonly #shape: CacheShape;
  readonly #limit: number;
  #capacity = 0;
  /** Keys and values in turn, layer by layer. */
  #buffers: readonly Float32Array[];

  /** @param limit the largest number of positions that will ever be held */
  constructor(shape: CacheShape, limit: number) {
    this.#shape = shape;
    this.#limit = limit;
    this.#buffers = Array.from({ length: 2 * shape.layers }, () => new Float32Array(this.#size));
  }

  /** Numbers of a position in a buffer. */
  get #size(): number {
    return this.#shape.kvHeads * this.#shape.headDim;
  }

  bytesOf(length: number): number {
    const positions = 1 + capacityFor(length, this.#limit);
    return this.#buffers.length * this.#size * positions * Float32Array.BYTES_PER_ELEMENT;
  }

  empty(): KvCache {
    return new KvCache(this.#shape, this.#limit);
  }

  /** A copy of the first `length` positions, or of all if there are fewer. */
  fork(length: number): KvCache {
    const copy = this.empty();
    const count = Math.min(length, this.length);
    copy.reserve(count);
    copy.write(0, count, this.#views(0, count));
    return copy;
  }

  /** Copies of positions from `start` on, as {@link write} takes them. */
  read(start: number, count: number): Float32Array[] {
    return this.#views(start, count).map((part) => part.slice());
  }

  /** @throws RangeError if so many positions can never be held */
  check(length: number): void {
    if (length > this.#limit)
      throw new RangeError(`cache: ${length} positions exceed the limit of ${this.#limit}`);
  }

  /** Makes room for positions up to `length`; growing copies what is held. */
  reserve(length: number): void {
    this.check(length);
    if (length <= this.#capacity) return;
    const capacity = capacityFor(length, this.#limit);
    const held = this.#views(0, this.length);
    this.#buffers = held.map((part) => {
      const data = new Float32Array((1 + capacity) * this.#size);
      data.set(part, this.#size);
      return data;
    });
    this.#capacity = capacity;
  }

  /**
   * Positions from `start` on where they are held, not copied: keys and values in turn, layer by layer,
   * `[count, kvHeads, headDim]`. They change with the cache.
   */
  tensors(start: number, count: number): ort.Tensor[] {
    const { kvHeads, headDim } = this.#shape;
    return this.#views(start, count).map((data) => floats(data, [count, kvHeads, headDim]));
  }

  /** The first `count` positions in the same way, behind the key that no row sees: `[1 + count, kvHeads, headDim]`. */
  past(count: number): ort.Tensor[] {
    return this.tensors(-1, 1 + count);
  }

  /**
   * Puts computed keys and values in place, from `start` on.
   * @param parts keys and values in turn, layer by layer, `[count, kvHeads, headDim]`
   */
  write(start: number, count: number, parts: readonly Float32Array[]): void {
    for (const [i, part] of parts.entries()) this.#buffers[i]!.set(part, (1 + start) * this.#size);
    this.length = start + count;
    this.intact = Math.min(this.intact, start);
  }

  #views(start: number, count: number): Float32Array[] {
    const from = (1 + start) * this.#size;
    return this.#buffers.map((data) => data.subarray(from, from + count * this.#size));
  }
}
