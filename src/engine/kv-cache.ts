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

/**
 * Keys and values of one sequence: per layer `[1, kvHeads, capacity, headDim]`, as attention reads them.
 * It only ever appends; setting {@link length} cuts it.
 */
export class KvCache {
  length = 0;
  readonly #shape: CacheShape;
  readonly #limit: number;
  #capacity = 0;
  /** Keys and values in turn, layer by layer. */
  #buffers: readonly Float32Array[];

  /** @param limit the largest number of positions that will ever be held */
  constructor(shape: CacheShape, limit: number) {
    this.#shape = shape;
    this.#limit = limit;
    this.#buffers = Array.from({ length: 2 * shape.layers }, () => new Float32Array());
  }

  /** What so many positions of it take. */
  bytesOf(length: number): number {
    const { kvHeads, headDim } = this.#shape;
    return (
      this.#buffers.length *
      kvHeads *
      headDim *
      capacityFor(length, this.#limit) *
      Float32Array.BYTES_PER_ELEMENT
    );
  }

  /** Another one for sequences of the same model. */
  empty(): KvCache {
    return new KvCache(this.#shape, this.#limit);
  }

  /** A copy of the first `length` positions, or of all if there are fewer. */
  fork(length: number): KvCache {
    const copy = this.empty();
    const count = Math.min(length, this.length);
    copy.reserve(count);
    copy.write(0, count, this.read(0, count));
    return copy;
  }

  /** Copies of positions from `start` on, as {@link write} takes them. */
  read(start: number, count: number): Float32Array[] {
    const { kvHeads, headDim } = this.#shape;
    const size = count * headDim;
    return this.#buffers.map((data) => {
      const part = new Float32Array(kvHeads * size);
      for (let head = 0; head < kvHeads; head++) {
        const source = (head * this.#capacity + start) * headDim;
        part.set(data.subarray(source, source + size), head * size);
      }
      return part;
    });
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
    const { kvHeads, headDim } = this.#shape;
    this.#buffers = this.#buffers.map((old) => {
      const data = new Float32Array(kvHeads * capacity * headDim);
      for (let head = 0; head < kvHeads; head++) {
        const start = head * this.#capacity * headDim;
        data.set(old.subarray(start, start + this.length * headDim), head * capacity * headDim);
      }
      return data;
    });
    this.#capacity = capacity;
  }

  /** The buffers themselves, keys and values in turn, layer by layer, `[1, kvHeads, capacity, headDim]`. */
  tensors(): ort.Tensor[] {
    const { kvHeads, headDim } = this.#shape;
    return this.#buffers.map((data) => floats(data, [1, kvHeads, this.#capacity, headDim]));
  }

  /**
   * Puts computed keys and values in place, from `start` on.
   * @param parts keys and values in turn, layer by layer, `[1, kvHeads, count, headDim]`
   */
  write(start: number, count: number, parts: readonly Float32Array[]): void {
    const { kvHeads, headDim } = this.#shape;
    const size = count * headDim;
    for (const [i, part] of parts.entries()) {
      for (let head = 0; head < kvHeads; head++) {
        const target = (head * this.#capacity + start) * headDim;
        this.#buffers[i]!.set(part.subarray(head * size, (head + 1) * size), target);
      }
    }
    this.length = start + count;
  }
}
