import type { PackedTensor } from '../checkpoint/packed.js';
import { hadamard, rotationOf } from '../numerics/hadamard.js';
import { linear } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { detach } from '../onnx/vjp.js';
import { external } from './packed-values.js';

/**
 * Weights are integers of 7 bits, stored with this added: a byte from 1 to 127 is the same with a sign and without. So one
 * copy is read by the product, whose operator takes the weights without a sign, and by its gradient, which takes them with
 * one. Sums of two products fit 16 bits then, as processors without VNNI need it.
 */
export const ROUNDED_ZERO = 64;
export const ROUNDED_LARGEST = 63;
/** Of activations, as integers of 8 bits. */
const LARGEST = 127;
/** Keeps the scale of a row of zeros from being zero. */
const TINY = 1e-30;

/** A row as integers and what one of them is worth. */
interface RoundedRows {
  /** int8 `[in, rows]` */
  readonly integers: Value;
  /** `[rows, 1]` */
  readonly scale: Value;
}

/**
 * Products for derivatives, in integers of 8 bits: y = x Wᵀ, its gradient and its tangent.
 *
 * Inputs are rotated in blocks by Hadamard matrices, and the weights are stored rotated alike (QuaRot, arXiv 2404.00456):
 * an outlier is spread over its block, so that each row can have one scale. The product is that of the rotated sides.
 * Gradients are rounded twice, the second time what the first left over: their signs are what is wanted of them.
 */
export class RoundedProducts {
  readonly #g: Graph;
  readonly #rounded = new Map<Value, RoundedRows>();
  readonly #rotations = new Map<number, Value>();

  constructor(g: Graph) {
    this.#g = g;
  }

  /** x Wᵀ + bias: `[rows, in]`, W `[out, in]` → `[rows, out]`. */
  multiply(x: Value, weight: PackedTensor, bias?: Value): Value {
    const apply = (some: Value): Value => this.#product(some, weight);
    return linear(this.#g, x, { apply, transposed: (dy) => this.#gradient(dy, weight) }, bias);
  }

  #product(x: Value, weight: PackedTensor): Value {
    const g = this.#g;
    const { integers, scale } = this.#round(x);
    const sums = g.op('MatMulInteger', [stored(g, weight, 'uint8'), integers, g.byte(ROUNDED_ZERO)]);
    const scaled = g.op('DequantizeLinear', [sums, scalesOf(g, weight)], { axis: 0 });
    return g.op('Mul', [g.transpose(scaled, [1, 0]), scale]);
  }

  /** dy W: `[rows, out]` → `[rows, in]`. The scales of the weights, one for each output, belong to the gradient. */
  #gradient(dy: Value, weight: PackedTensor): Value {
    const g = this.#g;
    const [rows, inner] = [dy.shape[0]!, weight.shape[1]];
    const scaled = g.op('Mul', [dy, scalesOf(g, weight)]);
    const unit = this.#unit(scaled, ROUNDED_LARGEST);
    const units = g.op('Div', [scaled, unit]);
    const first = g.quantize(units, ROUNDED_ZERO, 'uint8');
    const whole = g.op('DequantizeLinear', [first, g.scalar(1), g.byte(ROUNDED_ZERO)]);
    // What is left over is at most a half.
    const left = g.op('Mul', [g.op('Sub', [units, whole]), g.scalar(2 * ROUNDED_LARGEST)]);
    const both = g.op('Concat', [first, g.quantize(left, ROUNDED_ZERO, 'uint8')], { axis: 0 });
    const zeros = [g.byte(ROUNDED_ZERO), g.byte(ROUNDED_ZERO, 'int8')];
    const sums = g.cast(g.op('MatMulInteger', [both, stored(g, weight, 'int8'), ...zeros]), 'float32');
    const [high, low] = g.split(sums, 0, [rows, rows]);
    const sum = g.op('Add', [high!, g.op('Mul', [low!, g.scalar(1 / (2 * ROUNDED_LARGEST))])]);
    return this.#rotate(g.op('Mul', [sum, unit]), inner);
  }

  #round(x: Value): RoundedRows {
    let rows = this.#rounded.get(x);
    if (!rows) {
      const g = this.#g;
      const rotated = this.#rotate(detach(x), Number(x.shape[1]));
      const scale = this.#unit(rotated, LARGEST);
      const integers = g.quantize(g.op('Div', [rotated, scale]), 0, 'int8');
      rows = { integers: g.transpose(integers, [1, 0]), scale };
      this.#rounded.set(x, rows);
    }
    return rows;
  }

  /** What an integer is worth if the largest number of a row is `most`, `[rows, 1]`; NaN if a number is not finite. */
  #unit(x: Value, most: number): Value {
    const g = this.#g;
    const size = g.op('Abs', [x]);
    // The maximum passes over NaN.
    const nothing = g.op('Mul', [g.reduce('ReduceSum', size, [-1]), g.scalar(0)]);
    const largest = g.op('Mul', [g.reduce('ReduceMax', size, [-1]), g.scalar(1 / most)]);
    return g.op('Add', [g.op('Add', [largest, nothing]), g.scalar(TINY)]);
  }

  #rotate(x: Value, width: number): Value {
    const g = this.#g;
    const size = rotationOf(width);
    let matrix = this.#rotations.get(size);
    if (!matrix) {
      matrix = g.array(hadamard(size), [size, size]);
      this.#rotations.set(size, matrix);
    }
    const blocks = g.reshape(x, [x.shape[0]!, width / size, size]);
    return g.reshape(g.op('MatMul', [blocks, matrix]), x.shape);
  }
}

const stored = (g: Graph, weight: PackedTensor, type: 'uint8' | 'int8'): Value =>
  g.external(external(weight, 'integers', type, weight.shape));

const scalesOf = (g: Graph, weight: PackedTensor): Value =>
  g.external(external(weight, 'scale_units', 'float32', [weight.shape[0]]));
