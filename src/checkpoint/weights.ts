import { ModelError, show } from '../files/file-errors.js';
import type { ModelConfig } from './config.js';
import type { NormPlacement } from './model-families.js';
import { type PackedTensor, packedRows } from './packed.js';
import type { FileTensor, StoredTensor } from './safetensors.js';

/** The embedding matrix, `[vocab, hidden]`; the head too where the two are tied. */
export const EMBEDDING = 'model.embed_tokens.weight';

/** The norms of a part of a layer, by name; `null` where there is none. */
interface PartNorms {
  readonly before: string | null;
  readonly after: string | null;
}

/** The same name stands for different norms: that after the attention is the one before the feed-forward part of Llama. */
export const LAYER_NORMS = {
  before: {
    attention: { before: 'input_layernorm', after: null },
    mlp: { before: 'post_attention_layernorm', after: null },
  },
  around: {
    attention: { before: 'input_layernorm', after: 'post_attention_layernorm' },
    mlp: { before: 'pre_feedforward_layernorm', after: 'post_feedforward_layernorm' },
  },
  after: {
    attention: { before: null, after: 'post_attention_layernorm' },
    mlp: { before: null, after: 'post_feedforward_layernorm' },
  },
} as const satisfies Record<NormPlacement, { readonly attention: PartNorms; readonly mlp: PartNorms }>;

export type Weight = StoredTensor | PackedTensor;

/** Whether a matrix is stored in FP8: laid out as integers are, and none. */
export const inFloat8 = (weight: Weight): boolean =>
  weight.type === 'packed' && weight.format.float !== undefined;

/** The files that hold a weight: of a packed one, the parts may lie in several. */
export const filesOf = (weight: Weight): readonly string[] =>
  weight.type === 'packed' ? Object.values(weight.places).map(({ file }) => file) : [weight.file];

export type Weights = ReadonlyMap<string, Weight>;

/** The tensors of types that weights can have. */
export const weightsIn = (tensors: ReadonlyMap<string, FileTensor | Weight>): Map<string, Weight> =>
  new Map([...tensors].filter((each): each is [string, Weight] => each[1].type !== null));

type Shapes = ReadonlyMap<string, readonly number[]>;

/**
 * The weights that the decoder of this configuration reads, by their Hugging Face names. Shapes are as stored:
 * a projection is `[out, in]`.
 */
export function expectedTensors(config: ModelConfig): Shapes {
  const { hiddenSize, intermediateSize, vocabSize } = config;
  const queries = config.heads * config.headDim;
  const keys = config.kvHeads * config.headDim;
  const { attention, mlp } = LAYER_NORMS[config.norms];
  const shapes = new Map<string, readonly number[]>();
  const linear = (name: string, out: number, inner: number, bias: boolean) => {
    shapes.set(`${name}.weight`, [out, inner]);
    if (bias) shapes.set(`${name}.bias`, [out]);
  };
  const norm = (name: string, size = hiddenSize) => shapes.set(`${name}.weight`, [size]);

  shapes.set(EMBEDDING, [vocabSize, hiddenSize]);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = `model.layers.${layer}`;
    if (attention.before) norm(`${name}.${attention.before}`);
    linear(`${name}.self_attn.q_proj`, queries, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.k_proj`, keys, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.v_proj`, keys, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.o_proj`, hiddenSize, queries, config.outputBias);
    if (config.qkNorm) {
      norm(`${name}.self_attn.q_norm`, config.qkNorm === 'head' ? config.headDim : queries);
      norm(`${name}.self_attn.k_norm`, config.qkNorm === 'head' ? config.headDim : keys);
    }
    if (attention.after) norm(`${name}.${attention.after}`);
    if (mlp.before) norm(`${name}.${mlp.before}`);
    linear(`${name}.mlp.gate_proj`, intermediateSize, hiddenSize, config.mlpBias);
    linear(`${name}.mlp.up_proj`, intermediateSize, hiddenSize, config.mlpBias);
    linear(`${name}.mlp.down_proj`, hiddenSize, intermediateSize, config.mlpBias);
    if (mlp.after) norm(`${name}.${mlp.after}`);
  }
  norm('model.norm');
  if (!config.tieWordEmbeddings) linear('lm_head', vocabSize, hiddenSize, false);
  return shapes;
}

/** The matrix that logits are made with. */
export const headName = ({ tieWordEmbeddings }: Pick<ModelConfig, 'tieWordEmbeddings'>): string =>
  tieWordEmbeddings ? EMBEDDING : 'lm_head.weight';

/** The matrices of products. An embedding is looked up. */
export function productsOf(config: ModelConfig) {
  const head = headName(config);
  return [...expectedTensors(config)].flatMap(([name, [out, inner]]) =>
    inner === undefined || (name === EMBEDDING && name !== head)
      ? []
      : [{ name, shape: [out!, inner] as const }],
  );
}

/** Projections that are stored as one matrix, the first on top. */
const FUSED = new Map([
  ['self_attn.qkv_proj', ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj']],
  ['mlp.gate_up_proj', ['mlp.gate_proj', 'mlp.up_proj']],
]);

/** The names and shapes that a checkpoint of this configuration stores: what {@link expectedTensors} lists, fused. */
export function storedTensors(config: ModelConfig): Shapes {
  const shapes = new Map(expectedTensors(config));
  for (const { whole, parts } of fusedMatrices(config)) {
    const rows = parts.reduce((sum, { out }) => sum + out, 0);
    for (const { name } of parts) shapes.delete(name);
    shapes.set(whole, [rows, config.hiddenSize]);
  }
  return shapes;
}

function fusedMatrices(config: ModelConfig) {
  if (!config.fused) return [];
  const shapes = expectedTensors(config);
  return Array.from({ length: config.layers }, (_, layer) => `model.layers.${layer}`).flatMap((prefix) =>
    [...FUSED].map(([whole, parts]) => ({
      whole: `${prefix}.${whole}.weight`,
      parts: parts.map((part) => {
        const name = `${prefix}.${part}.weight`;
        return { name, out: shapes.get(name)![0]! };
      }),
    })),
  );
}

/** Gives the parts of matrices that are stored as one their own names: their rows follow each other in the file. */
export function splitFused(config: ModelConfig, index: Weights): Weights {
  const tensors = new Map(index);
  for (const { whole, parts } of fusedMatrices(config)) {
    const stored = index.get(whole);
    if (!stored) continue;
    tensors.delete(whole);
    let from = 0;
    for (const { name, out } of parts) {
      tensors.set(name, { ...rowsOf(stored, from, out), name });
      from += out;
    }
  }
  return tensors;
}

export function rowsOf(weight: Weight, from: number, count: number): Weight {
  if (weight.type === 'packed') return packedRows(weight, from, count);
  const { name, shape, offset, byteLength } = weight;
  if (from === 0 && count === shape[0]) return weight;
  const rowBytes = byteLength / shape[0]!;
  return {
    ...weight,
    name: `${name}[${from}:${from + count}]`,
    shape: [count, ...shape.slice(1)],
    offset: offset + from * rowBytes,
    byteLength: count * rowBytes,
  };
}

/**
 * Checks that the files hold every weight, in the shape that config.json implies. What else they hold is of no matter.
 *
 * @param dir the checkpoint, named where a tensor is in none of its files
 * @throws ModelError naming the tensor, its file where it has one, and both shapes
 */
export function checkTensors(
  config: ModelConfig,
  tensors: ReadonlyMap<string, FileTensor | Weight>,
  dir: string,
): void {
  for (const [name, shape] of storedTensors(config)) {
    const tensor = tensors.get(name);
    if (tensor?.type === null)
      throw new ModelError(dir, name, `is stored as ${tensor.dtype} (supported: F32, BF16, F16)`);
    if (!tensor) throw new ModelError(dir, name, `is missing from the weights (expected ${show(shape)})`);
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, axis) => size !== shape[axis])) {
      const problem = `has shape ${show(tensor.shape)}, config.json implies ${show(shape)}`;
      throw new ModelError(tensor.file, name, problem);
    }
  }
}
