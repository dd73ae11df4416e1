import type * as ort from 'onnxruntime-node';
import type { ModelConfig } from '../model/config.js';
import { floats } from './session.js';

type CacheShape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>;

const INITIAL_CAPACITY = 128;

/** The smallest doubling of {@link INITIAL_CAPACITY} that holds `length` positions, at most `limit`. */
function capacityFor(length: number, limit: number): number {
  let capacity = INITIAL_CAPACITY;
  while (capacity < length) capacity *= 2;
  return Math.min(capacity, limit);
}

/**
 * Keys and values of one text for the decode graph: per layer `[1, kvHeads, capacity, headDim]`, written in place.
 * It only ever appends; setting {@link length} cuts it.
 */
export class DecodeCache {
  length = 0;
  readonly #shape: CacheShape;
  readonly #limit: number;
  #capacity = 0;
  #buffers: readonly { readonly name: string; readonly data: Float32Array }[] = [];

  /** @param limit the largest number of positions that will ever be held */
  constructor(shape: CacheShape, limit: number) {
    this.#shape = shape;
    this.#limit = limit;
  }

  /** Makes room for positions up to `length`; growing copies what is held. */
  reserve(length: number): void {
    if (length > this.#limit)
      throw new RangeError(`cache: ${length} positions exceed the limit of ${this.#limit}`);
    if (length <= this.#capacity) return;
    const capacity = capacityFor(length, this.#limit);
    const { layers, kvHeads, headDim } = this.#shape;
    const names = Array.from({ length: layers }, (_, layer) => [`key.${layer}`, `value.${layer}`]).flat();
    this.#buffers = names.map((name, i) => {
      const data = new Float32Array(kvHeads * capacity * headDim);
      const old = this.#buffers[i]?.data;
      for (let head = 0; old && head < kvHeads; head++) {
        const start = head * this.#capacity * headDim;
        data.set(old.subarray(start, start + this.length * headDim), head * capacity * headDim);
      }
      return { name, data };
    });
    this.#capacity = capacity;
  }

  /** The same buffers as graph inputs `key.N`, `value.N` and as outputs `present_key.N`, `present_value.N`. */
  tensors(): { readonly inputs: Record<string, ort.Tensor>; readonly outputs: Record<string, ort.Tensor> } {
    const { kvHeads, headDim } = this.#shape;
    const dims = [1, kvHeads, this.#capacity, headDim];
    const inputs: Record<string, ort.Tensor> = {};
    const outputs: Record<string, ort.Tensor> = {};
    for (const { name, data } of this.#buffers) {
      inputs[name] = floats(data, dims);
      outputs[`present_${name}`] = inputs[name];
    }
    return { inputs, outputs };
  }
}

/**
 * Clean keys and values of one text for score passes: per layer `[positions, kvHeads · headDim]`, so that any prefix
 * is one contiguous view and nothing is copied to feed it.
 */
export class ScoreCache {
  readonly #width: number;
  readonly #limit: number;
  #capacity = 0;
  #length = 0;
  #layers: { key: Float32Array; value: Float32Array }[];

  constructor({ layers, kvHeads, headDim }: CacheShape, limit: number) {
    this.#width = kvHeads * headDim;
    this.#limit = limit;
    this.#layers = Array.from({ length: layers }, () => ({
      key: new Float32Array(),
      value: new Float32Array(),
    }));
  }

  get length(): number {
    return this.#length;
  }

  /** Keeps the first `length` positions. */
  cut(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  /** The first `length` positions of a layer, as views. */
  prefix(layer: number, length: number): { readonly key: Float32Array; readonly value: Float32Array } {
    const { key, value } = this.#layers[layer]!;
    return { key: key.subarray(0, length * this.#width), value: value.subarray(0, length * this.#width) };
  }

  /** Appends keys and values, per layer `[count, kvHeads · headDim]`. */
  append(
    count: number,
    layers: readonly { readonly key: Float32Array; readonly value: Float32Array }[],
  ): void {
    const length = this.#length + count;
    if (length > this.#limit)
      throw new RangeError(`cache: ${length} positions exceed the limit of ${this.#limit}`);
    if (length > this.#capacity) this.#grow(capacityFor(length, this.#limit));
    const start = this.#length * this.#width;
    layers.forEach(({ key, value }, layer) => {
      this.#layers[layer]!.key.set(key, start);
      this.#layers[layer]!.value.set(value, start);
    });
    this.#length = length;
  }

  #grow(capacity: number): void {
    this.#capacity = capacity;
    this.#layers = this.#layers.map(({ key, value }) => ({
      key: enlarge(key, capacity * this.#width),
      value: enlarge(value, capacity * this.#width),
    }));
  }
}

function enlarge(old: Float32Array, size: number): Float32Array {
  const data = new Float32Array(size);
  data.set(old);
  return data;
}
