import type { PackedTensor } from '../checkpoint/packed.js';
import type { StoredTensor } from '../checkpoint/safetensors.js';
import { weightValues } from '../checkpoint/weight-values.js';
import { rowsOf, type Weight } from '../checkpoint/weights.js';
import type { ExternalTensor, Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import {
  blockOffsets,
  blockScales,
  ELEMENT_TYPE,
  external,
  type Integers,
  numbers,
  reordered,
  scaledIntegers,
  storedType,
} from './packed-values.js';

/** Elements of an fp32 copy of a weight: 28 MB. Larger pieces of memory are given back to the system at every free. */
const MAX_COPY_ELEMENTS = 7 * 2 ** 20;
/** The same on a GPU: 256 MB. */
const MAX_COPY_ON_GPU = 2 ** 26;

/** `accuracy_level` of `MatMulNBits`: activations stay in fp32, or are rounded to 8 bits in blocks. */
const LEVELS = { fp32: 1, int8: 4 } as const;

export interface ProductsOptions {
  /**
   * Whether integers of 4 bits are multiplied by an operator that packs a copy of them: three times as fast, and for one
   * graph of a process. Those of 8 bits have no such operator with fp32 activations.
   */
  readonly packs?: boolean | undefined;
  /**
   * GPUs have an operator with fp32 activations for all matrices in integers, and none for the halves of a byte. WebGPU
   * has none for floats of 8 bits: these are given to it unpacked.
   */
  readonly gpu?: 'webgpu' | 'cuda' | undefined;
}

/**
 * Products with the weights of a model, as they are stored.
 *
 * What is not fp32 is made so where it is used, some rows at a time: the file is mapped, and nothing of a copy outlives
 * its product. Such products have gradients. {@link multiplyIntegers} has none; it is for writing.
 */
export class Products {
  readonly #g: Graph;
  readonly #packs: boolean;
  readonly #gpu: ProductsOptions['gpu'];
  readonly #sums = new Map<Value, Map<number, Value>>();
  readonly #split = new Map<Value, readonly [Value, Value]>();

  constructor(g: Graph, { packs = false, gpu }: ProductsOptions = {}) {
    this.#g = g;
    this.#packs = packs;
    this.#gpu = gpu;
  }

  /** x Wᵀ + bias: `[rows, in]`, W `[out, in]` → `[rows, out]`. */
  multiply(x: Value, weight: Weight, bias?: Value): Value {
    const g = this.#g;
    if (weight.type === 'packed' && this.#unpacks(weight)) {
      const w = g.external(unpackedTensor(weight));
      return g.op('Gemm', bias ? [x, w, bias] : [x, w], { transB: 1 });
    }
    const product = weight.type === 'packed' ? this.#multiplyPacked(x, weight) : null;
    if (product) return bias ? g.op('Add', [product, bias]) : product;
    const parts = partsToCopy(weight);
    if (parts.length === 1) {
      const w = g.weight(externalTensor(weight as StoredTensor), x);
      return g.op('Gemm', bias ? [x, w, bias] : [x, w], { transB: 1 });
    }
    const whole = this.#inParts(parts, x, (part, after) =>
      g.op('Gemm', [x, g.weight(externalTensor(part as StoredTensor), after)], { transB: 1 }),
    );
    return bias ? g.op('Add', [whole, bias]) : whole;
  }

  /** The same as {@link multiply}, with activations rounded to 8 bits in blocks. */
  multiplyIntegers(x: Value, weight: PackedTensor, bias?: Value): Value {
    const product = this.#nBits(reordered(this.#g, x, weight, 'stored'), weight, 'int8');
    return bias ? this.#g.op('Add', [product, bias]) : product;
  }

  #multiplyPacked(x: Value, weight: PackedTensor): Value {
    const { bits, float } = weight.format;
    const columns = reordered(this.#g, x, weight, 'stored');
    const nBits = !float && (this.#gpu || (this.#packs && bits === 4));
    // A GPU is given a part once, for the product and for its gradient.
    const parts = nBits && !this.#gpu ? [weight] : this.#parts(weight);
    const product = this.#inParts(parts, columns, (part, after) =>
      nBits ? this.#nBits(columns, part, 'fp32') : this.#packed(columns, part, after),
    );
    const back = (dy: Value): Value => reordered(this.#g, this.#back(dy, weight), weight, 'inputs');
    this.#g.defineGradient(product, { inputs: [x], rule: (dy) => [() => back(dy)] });
    return product;
  }

  /** Whether a graph is given the values of a matrix in place of what is stored. */
  #unpacks({ format }: PackedTensor): boolean {
    return this.#gpu === 'webgpu' && format.float !== undefined;
  }

  #parts(weight: PackedTensor): PackedTensor[] {
    return partsToCopy(weight, this.#gpu ? MAX_COPY_ON_GPU : MAX_COPY_ELEMENTS) as PackedTensor[];
  }

  #nBits(x: Value, weight: PackedTensor, activations: keyof typeof LEVELS): Value {
    const g = this.#g;
    const { format, shape } = weight;
    const [out, inner] = shape;
    const { bits, block, zero } = format;
    const blocks = Math.ceil(inner / block);
    const integers = g.external(external(weight, 'integers', 'uint8', [out, blocks, (block * bits) / 8]));
    const scales = numbers(g, weight, 'scale');
    const product = g.op('MatMulNBits', [x, integers, scales], {
      K: inner,
      N: out,
      bits,
      block_size: block,
      accuracy_level: LEVELS[activations],
    });
    // The operator takes the middle of the range for 0.
    const moved = 2 ** (bits - 1) - zero;
    const shift = moved === 0 ? null : g.op('Mul', [scales, g.scalar(moved)]);
    const given = format.offsets === null ? null : numbers(g, weight, 'offset');
    const offsets = shift && given ? g.op('Add', [shift, given]) : (shift ?? given);
    if (!offsets) return product;
    const added = g.op('Gemm', [this.#blockSums(x, block), offsets], { transB: 1 });
    return g.op('Add', [product, added]);
  }

  /** One product after the other, so that one copy at a time is there. */
  #inParts<Part extends Weight>(
    parts: readonly Part[],
    x: Value,
    multiply: (part: Part, after: Value) => Value,
  ): Value {
    let after = x;
    const products = parts.map((part) => {
      after = multiply(part, after);
      return after;
    });
    return products.length === 1 ? after : this.#g.op('Concat', products, { axis: 1 });
  }

  /** Rows of a matrix: ids `[rows]` → fp32 `[rows, in]`. */
  gather(weight: Weight, ids: Value): Value {
    const g = this.#g;
    if (weight.type !== 'packed' || this.#unpacks(weight)) {
      const table = weight.type === 'packed' ? unpackedTensor(weight) : externalTensor(weight);
      return g.cast(g.op('Gather', [g.external(table), ids], { axis: 0 }), 'float32');
    }
    const { shape, format } = weight;
    const [out, inner] = shape;
    const { bits, block, zero } = format;
    const rows = ids.shape[0]!;
    const take = (value: Value): Value => g.op('Gather', [value, ids], { axis: 0 });
    const stored = g.external(external(weight, 'integers', storedType(format), [out, (inner * bits) / 8]));
    const bytes = take(stored);
    const halves = bits === 8 ? [bytes] : [g.op('BitwiseAnd', [bytes, g.byte(15)]), shifted(g, bytes)];
    const columns = halves.map((half) => g.unsqueeze(g.cast(half, 'float32'), [2]));
    const integers = columns.length === 1 ? columns[0]! : g.op('Concat', columns, { axis: 2 });
    const centred = g.op('Sub', [g.reshape(integers, [rows, inner / block, block]), g.scalar(zero)]);
    const perBlock = (kind: 'scale' | 'offset'): Value =>
      g.unsqueeze(numbers(g, weight, kind, { take, shape: [rows, inner / block] }), [2]);
    const scaled = g.op('Mul', [centred, perBlock('scale')]);
    const values = format.offsets === null ? scaled : g.op('Add', [scaled, perBlock('offset')]);
    return reordered(g, g.reshape(values, [rows, inner]), weight, 'inputs');
  }

  /** dY W: `[rows, out]` → `[rows, in]`, as {@link #packed} with the sums over the outputs. */
  #back(dy: Value, weight: PackedTensor): Value {
    const g = this.#g;
    const [rows, inner] = [dy.shape[0]!, weight.shape[1]];
    const { bits, block, zero, offsets } = weight.format;
    const add = (a: Value | null, b: Value): Value => (a ? g.op('Add', [a, b]) : b);
    let bytes: Value | null = null;
    let low: Value | null = null;
    let added: Value | null = null;
    let [from, after] = [0, dy];
    for (const part of this.#parts(weight)) {
      const some = part === weight ? dy : g.slice(dy, 1, [from], part.shape[0]);
      from += part.shape[0];
      const scales = blockScales(g, part, after);
      const times = (integers: Integers): Value =>
        g.op('MatMul', [some, this.#scaled(part, integers, after, scales)]);
      bytes = add(bytes, times('bytes'));
      after = bytes;
      if (bits === 4) low = add(low, times('low halves'));
      if (offsets !== null || (bits === 4 && zero !== 0)) {
        added = add(added, g.op('MatMul', [some, blockOffsets(g, part, after)]));
      }
    }
    let gradient = bytes!;
    if (low) {
      const odd = g.op('Mul', [g.op('Sub', [bytes!, low]), g.scalar(1 / 16)]);
      const pairs = [low, odd].map((half) => g.unsqueeze(half, [2]));
      gradient = g.reshape(g.op('Concat', pairs, { axis: 2 }), [rows, inner]);
    }
    if (!added) return gradient;
    const blocks = g.reshape(gradient, [rows, inner / block, block]);
    return g.reshape(g.op('Add', [blocks, g.unsqueeze(added, [2])]), [rows, inner]);
  }

  /**
   * x (s ⊙ q)ᵀ, and what the offsets of a block add to all of its inputs: their sum times the offset.
   *
   * Two integers of 4 bits make a byte b = q₀ + 16 q₁. With x₀ and x₁, every other input, x₀ q₀ + x₁ q₁ is
   * (x₀ − x₁/16) q₀ + x₁ b/16: so bytes are read as they are, and of the halves only q₀ is taken out.
   */
  #packed(x: Value, part: PackedTensor, after: Value): Value {
    const g = this.#g;
    const { bits, block, zero, offsets } = part.format;
    const scales = blockScales(g, part, after);
    const times = (inputs: Value, integers: Integers): Value =>
      g.op('Gemm', [inputs, this.#scaled(part, integers, after, scales)], { transB: 1 });
    let product: Value;
    if (bits === 8) {
      product = times(x, 'bytes');
    } else {
      const [even, odd] = this.#halves(x);
      const share = g.op('Mul', [odd, g.scalar(1 / 16)]);
      const less = g.op('Sub', [even, share]);
      product = g.op('Add', [times(less, 'low halves'), times(share, 'bytes')]);
    }
    // Halves are taken without their zero, which then is an offset of the block.
    const moved = bits === 4 && zero !== 0;
    if (offsets === null && !moved) return product;
    const sums = this.#blockSums(x, block);
    return g.op('Add', [product, g.op('Gemm', [sums, blockOffsets(g, part, after)], { transB: 1 })]);
  }

  #scaled(part: PackedTensor, integers: Integers, after: Value, scales: Value): Value {
    const read = { of: integers, onGpu: this.#gpu !== undefined };
    return scaledIntegers(this.#g, part, read, after, scales);
  }

  /** `[rows, in]` → the even and the odd columns, `[rows, in / 2]` */
  #halves(x: Value): readonly [Value, Value] {
    let halves = this.#split.get(x);
    if (!halves) {
      const [rows, inner] = [x.shape[0]!, Number(x.shape[1])];
      const pairs = this.#g.split(this.#g.reshape(x, [rows, inner / 2, 2]), 2, [1, 1]);
      const [even, odd] = pairs.map((half) => this.#g.reshape(half, [rows, inner / 2]));
      halves = [even!, odd!];
      this.#split.set(x, halves);
    }
    return halves;
  }

  /** `[rows, in]` → `[rows, blocks]` */
  #blockSums(x: Value, block: number): Value {
    const known = this.#sums.get(x) ?? new Map<number, Value>();
    this.#sums.set(x, known);
    let sums = known.get(block);
    if (!sums) {
      const [rows, inner] = [x.shape[0]!, Number(x.shape[1])];
      const blocks = this.#g.reshape(x, [rows, inner / block, block]);
      sums = this.#g.reduce('ReduceSum', blocks, [-1], { keepDims: false });
      known.set(block, sums);
    }
    return sums;
  }
}

const shifted = (g: Graph, bytes: Value): Value =>
  g.op('BitShift', [bytes, g.byte(4)], { direction: 'RIGHT' });

/** The values of a packed matrix in fp32. */
const unpackedTensor = (packed: PackedTensor): ExternalTensor => {
  const { name, shape, file } = packed;
  const values = () => weightValues(packed);
  return { name, type: 'float32', shape, file, offset: 0, byteLength: 4 * shape[0] * shape[1], values };
};

/** A weight that is stored in floating point, as the graph reads it. */
export const externalTensor = (tensor: StoredTensor): ExternalTensor => ({
  ...tensor,
  type: ELEMENT_TYPE[tensor.type],
});

/**
 * A weight, by rows in parts of which one at a time can be copied to fp32: a whole copy of the largest would be larger
 * than all that a run needs beside. What is fp32 already stays whole.
 */
export function partsToCopy(weight: Weight, limit = MAX_COPY_ELEMENTS): Weight[] {
  const [rows = 0, inner = 1] = weight.shape;
  if (weight.type === 'fp32' || rows * inner <= limit) return [weight];
  const parts = Math.ceil((rows * inner) / limit);
  const size = Math.ceil(rows / parts);
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) =>
    rowsOf(weight, i * size, Math.min(size, rows - i * size)),
  );
}
