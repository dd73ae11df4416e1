import type { StoredTensor } from '../checkpoint/safetensors.js';
import { linear } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { detach } from '../onnx/vjp.js';
import { externalTensor, type Products } from './products.js';

/**
 * Products in bf16: y = x Wᵀ, its gradient and its tangent, of weights that are stored so. What goes in and what comes out is
 * rounded to bf16; sums are in fp32, as in tensor cores. One copy of the weights serves all three.
 */
export class HalfProducts {
  readonly #g: Graph;
  readonly #native: boolean;
  readonly #products: Products;
  readonly #rounded = new Map<Value, Value>();

  /** @param native whether the device multiplies bf16; a CPU multiplies in fp32 what is rounded to bf16 */
  constructor(g: Graph, products: Products, native: boolean) {
    this.#g = g;
    this.#products = products;
    this.#native = native;
  }

  /** x Wᵀ + bias: `[rows, in]`, W `[out, in]` → `[rows, out]`. */
  multiply(x: Value, weight: StoredTensor, bias?: Value): Value {
    const apply = (some: Value): Value => this.#product(some, weight);
    return linear(this.#g, x, { apply, transposed: (dy) => this.#gradient(dy, weight) }, bias);
  }

  #product(x: Value, weight: StoredTensor): Value {
    const rounded = this.#round(x);
    if (!this.#native) return this.#half(this.#products.multiply(rounded, weight));
    const w = this.#g.external(externalTensor(weight));
    return this.#half(this.#g.op('Gemm', [rounded, w], { transB: 1 }));
  }

  /** dy W: `[rows, out]` → `[rows, in]`. */
  #gradient(dy: Value, weight: StoredTensor): Value {
    const g = this.#g;
    const rounded = this.#round(dy);
    const tensor = externalTensor(weight);
    const w = this.#native ? g.external(tensor) : g.weight(tensor, rounded);
    return this.#half(g.op('MatMul', [rounded, w]));
  }

  #round(x: Value): Value {
    let rounded = this.#rounded.get(x);
    if (!rounded) {
      rounded = this.#native ? this.#g.cast(detach(x), 'bfloat16') : this.#half(detach(x));
      this.#rounded.set(x, rounded);
    }
    return rounded;
  }

  /** In fp32, rounded to bf16 if it is not yet. */
  #half(x: Value): Value {
    return this.#g.cast(this.#g.cast(x, 'bfloat16'), 'float32');
  }
}
