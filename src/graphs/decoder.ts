import type { ModelConfig } from '../checkpoint/config.js';
import type { TensorIndex } from '../checkpoint/safetensors.js';
import { EMBEDDING } from '../checkpoint/weights.js';
import { overflow, silu } from '../onnx/functions.js';
import type { ExternalTensor, Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';

/** What the graphs of a model are built from. */
export interface ModelSource {
  readonly config: ModelConfig;
  readonly tensors: TensorIndex;
  /** In place of the weights of these names; such products have no gradient. */
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

/** Attention of one layer → `[rows, heads · headDim]`: fused for decoding, differentiable for scoring. */
export type Attention = (layer: number, projections: Projections) => Value;

/** Adds to the output of a projection, `[rows, out]`, what follows from its input, `[rows, hidden]`. */
export type ProjectionHook = (output: Value, input: Value, layer: number, name: 'q' | 'v') => Value;

/**
 * The decoder of the Llama, Qwen2 and Mistral families, written once. Activations are fp32 and two-dimensional,
 * `[rows, features]`; only the attention knows which row belongs to which sequence.
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
    return this.#g.cast(rows, 'float32');
  }

  /**
   * All layers: `[rows, hidden]` → `[rows, hidden]`.
   * @param perturb changes queries and values, before rotation
   */
  layers(input: Value, attention: Attention, perturb: ProjectionHook = (output) => output): Value {
    const g = this.#g;
    let hidden = input;
    for (let layer = 0; layer < this.#source.config.layers; layer++) {
      const name = `model.layers.${layer}`;
      const normed = this.#norm(hidden, `${name}.input_layernorm`);
      const heads = attention(layer, {
        query: perturb(this.#linear(normed, `${name}.self_attn.q_proj`), normed, layer, 'q'),
        key: this.#linear(normed, `${name}.self_attn.k_proj`),
        value: perturb(this.#linear(normed, `${name}.self_attn.v_proj`), normed, layer, 'v'),
      });
      hidden = g.op('Add', [hidden, this.#linear(heads, `${name}.self_attn.o_proj`)]);
      const entered = this.#norm(hidden, `${name}.post_attention_layernorm`);
      const gate = silu(g, this.#linear(entered, `${name}.mlp.gate_proj`));
      const inner = g.op('Mul', [gate, this.#linear(entered, `${name}.mlp.up_proj`)]);
      hidden = g.op('Add', [hidden, this.#linear(inner, `${name}.mlp.down_proj`)]);
    }
    return hidden;
  }

  /** Logits of chosen rows: `[rows, hidden]`, row numbers `[scored]` → `[scored, vocab]`. */
  logits(hidden: Value, rows: Value): Value {
    return this.head(this.#g.op('Gather', [hidden, rows], { axis: 0 }));
  }

  /** The final norm and the logits: `[scored, hidden]` → `[scored, vocab]`. */
  head(hidden: Value): Value {
    const g = this.#g;
    const name = this.#source.config.tieWordEmbeddings ? EMBEDDING : 'lm_head.weight';
    const normed = this.#norm(hidden, 'model.norm');
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
    const { normEpsilon } = this.#source.config;
    const normed = this.#g.op('RMSNormalization', [x, this.#vector(`${name}.weight`)], {
      axis: -1,
      epsilon: normEpsilon,
    });
    return this.#g.op('Add', [normed, overflow(this.#g, x)]);
  }

  /** Small enough that an fp32 copy does not matter. */
  #vector(name: string): Value {
    return this.#g.cast(this.#g.external(this.#tensor(name)), 'float32');
  }

  #tensor(name: string): ExternalTensor {
    return externalTensor(this.#source, name);
  }
}

/** Of an fp32 copy: 32 MB. */
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
