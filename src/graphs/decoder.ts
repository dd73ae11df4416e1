import type { ModelConfig } from '../checkpoint/config.js';
import type { TensorIndex } from '../checkpoint/safetensors.js';
import { EMBEDDING, LAYER_NORMS } from '../checkpoint/weights.js';
import { gelu, overflow, silu, softCap } from '../onnx/functions.js';
import type { ExternalTensor, Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';

/** Weights and configuration that the graphs of a model are built from. */
export interface ModelSource {
  readonly config: ModelConfig;
  readonly tensors: TensorIndex;
  /** Integers that replace the weights of these names; such products have no gradient. */
  readonly integers?: IntegerWeights;
}

/** Weights as integers of 8 bits, which are stored as numbers from 1 to 255 with 128 for 0. */
export type IntegerWeights = ReadonlyMap<string, IntegerWeight>;

export interface IntegerWeight {
  /** uint8 `[out, blocks, INTEGER_BLOCK]`, the last block of an output filled with zeros. */
  readonly integers: ExternalTensor;
  /** fp32 `[out, blocks]`. */
  readonly scales: ExternalTensor;
}

/** Inputs that share a scale. */
export const INTEGER_BLOCK = 32;

/** `MatMulNBits`: activations are rounded to 8 bits, too, in blocks. Any other level computes in fp32, and slower. */
const INTEGER_ACTIVATIONS = 4;

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

const ACTIVATION = { silu, gelu_pytorch_tanh: gelu };

/**
 * The decoder of all families, written once; the configuration says where they differ. Activations are fp32 and
 * two-dimensional, `[rows, features]`; only the attention knows which row belongs to which sequence.
 */
export class Decoder {
  readonly #g: Graph;
  readonly #source: ModelSource;

  constructor(g: Graph, source: ModelSource) {
    this.#g = g;
    this.#source = source;
  }

  /** Token ids `[rows]` → embeddings as they enter the first layer, `[rows, hidden]`. */
  embed(ids: Value): Value {
    const rows = this.#g.op('Gather', [this.#g.external(this.#tensor(EMBEDDING)), ids], { axis: 0 });
    const embeddings = this.#g.cast(rows, 'float32');
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
    const optionalNorm = (x: Value, layer: string, name: string | null): Value =>
      name === null ? x : this.#norm(x, `${layer}.${name}`);
    let hidden = input;
    for (let layer = 0; layer < config.layers; layer++) {
      const name = `model.layers.${layer}`;
      const own = `${name}.self_attn`;
      const normed = optionalNorm(hidden, name, norms.attention.before);
      const query = perturb(this.#linear(normed, `${own}.q_proj`), normed, layer, 'q');
      const heads = attention(layer, {
        query: this.#headNorm(query, `${own}.q_norm`),
        key: this.#headNorm(this.#linear(normed, `${own}.k_proj`), `${own}.k_norm`),
        value: perturb(this.#linear(normed, `${own}.v_proj`), normed, layer, 'v'),
      });
      const attended = this.#linear(heads, `${own}.o_proj`);
      hidden = g.op('Add', [hidden, optionalNorm(attended, name, norms.attention.after)]);
      const entered = optionalNorm(hidden, name, norms.mlp.before);
      const gate = ACTIVATION[config.activation](g, this.#linear(entered, `${name}.mlp.gate_proj`));
      const inner = g.op('Mul', [gate, this.#linear(entered, `${name}.mlp.up_proj`)]);
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
    const logits = this.#project(this.#norm(hidden, 'model.norm'));
    return logitCap === null ? logits : softCap(this.#g, logits, logitCap);
  }

  #project(normed: Value): Value {
    const g = this.#g;
    const name = this.#source.config.tieWordEmbeddings ? EMBEDDING : 'lm_head.weight';
    const integers = this.#source.integers?.get(name);
    if (integers) return this.#multiplyIntegers(normed, integers);
    let after = normed;
    const logits = partsToCast(this.#tensor(name)).map((part) => {
      after = g.op('Gemm', [normed, g.weight(part, after)], { transB: 1 });
      return after;
    });
    return logits.length === 1 ? logits[0]! : g.op('Concat', logits, { axis: 1 });
  }

  #multiply(x: Value, weight: string, bias?: Value): Value {
    const integers = this.#source.integers?.get(weight);
    if (integers) {
      const product = this.#multiplyIntegers(x, integers);
      return bias ? this.#g.op('Add', [product, bias]) : product;
    }
    const w = this.#g.weight(this.#tensor(weight), x);
    return this.#g.op('Gemm', bias ? [x, w, bias] : [x, w], { transB: 1 });
  }

  #multiplyIntegers(x: Value, { integers, scales }: IntegerWeight): Value {
    return this.#g.op('MatMulNBits', [x, this.#g.external(integers), this.#g.external(scales)], {
      K: Number(x.shape[1]),
      N: integers.shape[0]!,
      bits: 8,
      block_size: INTEGER_BLOCK,
      accuracy_level: INTEGER_ACTIVATIONS,
    });
  }

  /** x Wᵀ, plus the bias where the checkpoint's family has one. */
  #linear(x: Value, name: string): Value {
    const { qkvBias, outputBias, mlpBias } = this.#source.config;
    const biased = name.endsWith('o_proj') ? outputBias : name.includes('.mlp.') ? mlpBias : qkvBias;
    return this.#multiply(x, `${name}.weight`, biased ? this.#vector(`${name}.bias`) : undefined);
  }

  #norm(x: Value, name: string): Value {
    const { normEpsilon, normOffset } = this.#source.config;
    const stored = this.#vector(`${name}.weight`);
    const weight = normOffset === 0 ? stored : this.#g.op('Add', [stored, this.#g.scalar(normOffset)]);
    const normed = this.#g.op('RMSNormalization', [x, weight], { axis: -1, epsilon: normEpsilon });
    return this.#g.op('Add', [normed, overflow(this.#g, x)]);
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
    return this.#g.cast(this.#g.external(this.#tensor(name)), 'float32');
  }

  #tensor(name: string): ExternalTensor {
    return externalTensor(this.#source, name);
  }
}

/** Elements of an fp32 copy: 32 MB. */
const MAX_CAST_ELEMENTS = 2 ** 23;

/**
 * A weight, by rows in parts of which one at a time can be cast to fp32: the head of a model is its largest weight, and
 * a whole copy of it would be larger than all that a run needs beside. What is fp32 already stays whole.
 */
export function partsToCast(tensor: ExternalTensor, limit = MAX_CAST_ELEMENTS): ExternalTensor[] {
  const [rows = 0, inner = 1] = tensor.shape;
  if (tensor.type === 'float32' || rows * inner <= limit) return [tensor];
  const size = Math.max(1, Math.floor(limit / inner));
  const rowBytes = tensor.byteLength / rows;
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) => {
    const from = i * size;
    const count = Math.min(size, rows - from);
    return {
      ...tensor,
      name: `${tensor.name}[${from}:${from + count}]`,
      shape: [count, inner],
      offset: tensor.offset + from * rowBytes,
      byteLength: count * rowBytes,
    };
  });
}

/** A weight of the checkpoint as the graph reads it. */
export function externalTensor({ tensors }: ModelSource, name: string): ExternalTensor {
  const tensor = tensors.get(name);
  if (!tensor) throw new Error(`checkpoint: no tensor ${name}`);
  return { ...tensor, type: ELEMENT_TYPE[tensor.type] };
}

const ELEMENT_TYPE = { fp32: 'float32', fp16: 'float16', bf16: 'bfloat16' } as const;
