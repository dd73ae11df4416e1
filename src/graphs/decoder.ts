import type { ModelConfig } from '../checkpoint/config.js';
import type { PackedTensor } from '../checkpoint/packed.js';
import type { StoredTensor } from '../checkpoint/safetensors.js';
import { EMBEDDING, headName, LAYER_NORMS, type Weight, type Weights } from '../checkpoint/weights.js';
import { gelu, overflow, silu, softCap } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import { HalfProducts } from './half-products.js';
import { externalTensor, Products, type ProductsOptions } from './products.js';
import { RoundedProducts } from './rounded-products.js';

/** Weights and configuration that the graphs of a model are built from. */
export interface ModelSource {
  readonly config: ModelConfig;
  readonly tensors: Weights;
  /** Matrices whose products are of integers, by name; such products have no gradient. */
  readonly integers?: ReadonlyMap<string, PackedTensor>;
  /**
   * Matrices whose products are rounded ones, by name: in integers, see {@link RoundedProducts}, or in bf16, see
   * {@link HalfProducts}.
   */
  readonly rounded?: ReadonlyMap<string, PackedTensor | StoredTensor>;
  /** See {@link ProductsOptions}. */
  readonly gpu?: 'webgpu' | 'cuda';
}

/** Queries, keys and values of one layer, `[rows, heads · headDim]`, before rotation. */
export interface Projections {
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
}

/** Attention of one layer → `[rows, heads · headDim]`. */
export type Attention = (layer: number, projections: Projections) => Value;

/** Adds to the output of a projection, `[rows, out]`, what follows from its input, `[rows, hidden]`. */
export type ProjectionHook = (output: Value, input: Value, layer: number, name: 'q' | 'v') => Value;

/** Projections of the same input. */
const QUERY_KEY_VALUE = ['q_proj', 'k_proj', 'v_proj'];
const GATE_UP = ['gate_proj', 'up_proj'];

/** Name of matrices `of.name.weight` as one. */
const fusedName = (of: string, names: readonly string[]): string => `${of}.${names.join('+')}.weight`;

/** The matrices of products as derivatives take them, by name: those with the same input are one. */
export function fusedProducts(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = [QUERY_KEY_VALUE, GATE_UP];
  const fused = new Map<string, readonly string[]>();
  for (const name of names) {
    const [of, own] = [name.split('.').slice(0, -2).join('.'), name.split('.').at(-2)!];
    const group = groups.find((each) => each.includes(own));
    const parts = group?.map((each) => `${of}.${each}.weight`) ?? [name];
    fused.set(group ? fusedName(of, group) : name, parts);
  }
  return fused;
}

const ACTIVATION = { silu, gelu_pytorch_tanh: gelu };

/**
 * The decoder of all families, written once; the configuration says where they differ. Activations are fp32 and
 * two-dimensional, `[rows, features]`; only the attention knows which row belongs to which sequence.
 */
export class Decoder {
  readonly #g: Graph;
  readonly #source: ModelSource;
  readonly #products: Products;
  readonly #roundedProducts: RoundedProducts;
  readonly #halfProducts: HalfProducts;

  constructor(g: Graph, source: ModelSource, options: Pick<ProductsOptions, 'packs'> = {}) {
    this.#g = g;
    this.#source = source;
    this.#products = new Products(g, { ...options, gpu: source.gpu });
    this.#roundedProducts = new RoundedProducts(g);
    this.#halfProducts = new HalfProducts(g, this.#products, source.gpu === 'cuda');
  }

  /** Token ids `[rows]` → embeddings as they enter the first layer, `[rows, hidden]`. */
  embed(ids: Value): Value {
    const embeddings = this.#products.gather(this.#weight(EMBEDDING), ids);
    const { embeddingScale } = this.#source.config;
    return embeddingScale === 1
      ? embeddings
      : this.#g.op('Mul', [embeddings, this.#g.scalar(embeddingScale)]);
  }

  /**
   * All layers: `[rows, hidden]` → `[rows, hidden]`.
   * @param perturb changes queries and values, before rotation
   */
  layers(input: Value, attention: Attention, perturb: ProjectionHook = (output) => output): Value {
    const g = this.#g;
    const { config } = this.#source;
    const norms = LAYER_NORMS[config.norms];
    const optionalNorm = (x: Value, layer: string, name: string | null, guarded = true): Value =>
      name === null ? x : this.#norm(x, `${layer}.${name}`, guarded);
    let hidden = input;
    for (let layer = 0; layer < config.layers; layer++) {
      const name = `model.layers.${layer}`;
      const own = `${name}.self_attn`;
      const normed = optionalNorm(hidden, name, norms.attention.before);
      const [query, key, value] = this.#linears(normed, own, QUERY_KEY_VALUE);
      const heads = attention(layer, {
        query: this.#headNorm(perturb(query!, normed, layer, 'q'), `${own}.q_norm`),
        key: this.#headNorm(key!, `${own}.k_norm`),
        value: perturb(value!, normed, layer, 'v'),
      });
      const attended = this.#linear(heads, `${own}.o_proj`);
      hidden = g.op('Add', [hidden, optionalNorm(attended, name, norms.attention.after)]);
      // What overflows here is in the sum that the next norm is guarded for.
      const entered = optionalNorm(hidden, name, norms.mlp.before, false);
      const [gate, up] = this.#linears(entered, `${name}.mlp`, GATE_UP);
      const inner = g.op('Mul', [ACTIVATION[config.activation](g, gate!), up!]);
      const changed = this.#linear(inner, `${name}.mlp.down_proj`);
      hidden = g.op('Add', [hidden, optionalNorm(changed, name, norms.mlp.after)]);
    }
    return hidden;
  }

  /** Logits of chosen rows: `[rows, hidden]`, row numbers `[scored]` → `[scored, vocab]`. */
  logits(hidden: Value, rows: Value): Value {
    return this.head(this.#g.op('Gather', [hidden, rows], { axis: 0 }));
  }

  /** The final norm and the logits: `[scored, hidden]` → `[scored, vocab]`. */
  head(hidden: Value): Value {
    const { logitCap } = this.#source.config;
    const logits = this.#multiply(this.#norm(hidden, 'model.norm'), headName(this.#source.config));
    return logitCap === null ? logits : softCap(this.#g, logits, logitCap);
  }

  #multiply(x: Value, name: string, bias?: Value): Value {
    const rounded = this.#source.rounded?.get(name);
    if (rounded?.type === 'packed') return this.#roundedProducts.multiply(x, rounded, bias);
    if (rounded) return this.#halfProducts.multiply(x, rounded, bias);
    const integers = this.#source.integers?.get(name);
    if (integers) return this.#products.multiplyIntegers(x, integers, bias);
    return this.#products.multiply(x, this.#weight(name), bias);
  }

  /** x Wᵀ, plus the bias where the checkpoint's family has one. */
  #linear(x: Value, name: string): Value {
    return this.#multiply(x, `${name}.weight`, this.#bias(name));
  }

  /** The same with several matrices: one product, where they are rounded and lie one after the other. */
  #linears(x: Value, of: string, names: readonly string[]): Value[] {
    const fused = this.#source.rounded?.get(fusedName(of, names));
    if (fused?.type !== 'packed') return names.map((name) => this.#linear(x, `${of}.${name}`));
    const g = this.#g;
    const product = this.#roundedProducts.multiply(x, fused);
    const sizes = names.map((name) => this.#weight(`${of}.${name}.weight`).shape[0]!);
    return g.split(product, 1, sizes).map((part, i) => {
      const bias = this.#bias(`${of}.${names[i]}`);
      return bias ? g.op('Add', [part, bias]) : part;
    });
  }

  #bias(name: string): Value | undefined {
    const { qkvBias, outputBias, mlpBias } = this.#source.config;
    const biased = name.endsWith('o_proj') ? outputBias : name.includes('.mlp.') ? mlpBias : qkvBias;
    return biased ? this.#vector(`${name}.bias`) : undefined;
  }

  /** @param guarded whether the result is NaN where the squares of a row overflow */
  #norm(x: Value, name: string, guarded = true): Value {
    const { normEpsilon, normOffset } = this.#source.config;
    const stored = this.#vector(`${name}.weight`);
    const weight = normOffset === 0 ? stored : this.#g.op('Add', [stored, this.#g.scalar(normOffset)]);
    const normed = this.#g.op('RMSNormalization', [x, weight], { axis: -1, epsilon: normEpsilon });
    return guarded ? this.#g.op('Add', [normed, overflow(this.#g, x)]) : normed;
  }

  /** The norm of queries or keys, `[rows, heads · headDim]`, where the family has one. */
  #headNorm(x: Value, name: string): Value {
    const { qkNorm, headDim } = this.#source.config;
    if (qkNorm === null) return x;
    if (qkNorm === 'all') return this.#norm(x, name);
    const heads = this.#g.reshape(x, [x.shape[0]!, Number(x.shape[1]) / headDim, headDim]);
    return this.#g.reshape(this.#norm(heads, name), x.shape);
  }

  /** Small enough that an fp32 copy does not matter. */
  #vector(name: string): Value {
    const weight = this.#weight(name);
    if (weight.type === 'packed') throw new Error(`checkpoint: ${name} is packed`);
    return this.#g.cast(this.#g.external(externalTensor(weight)), 'float32');
  }

  #weight(name: string): Weight {
    return weightOf(this.#source, name);
  }
}

/** A weight of the checkpoint. */
export function weightOf({ tensors }: ModelSource, name: string): Weight {
  const weight = tensors.get(name);
  if (!weight) throw new Error(`checkpoint: no tensor ${name}`);
  return weight;
}
