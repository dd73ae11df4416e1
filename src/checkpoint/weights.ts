import { ModelError, show } from '../files/errors.js';
import type { ModelConfig } from './config.js';
import type { TensorIndex } from './safetensors.js';

/** The embedding matrix, `[vocab, hidden]`; the head too where the two are tied. */
export const EMBEDDING = 'model.embed_tokens.weight';

/**
 * The weights that the decoder of this configuration reads, by their Hugging Face names. Shapes are as stored:
 * a projection is `[out, in]`.
 */
export function expectedTensors(config: ModelConfig): ReadonlyMap<string, readonly number[]> {
  const { hiddenSize, intermediateSize, vocabSize } = config;
  const queries = config.heads * config.headDim;
  const keys = config.kvHeads * config.headDim;
  const shapes = new Map<string, readonly number[]>();
  const linear = (name: string, out: number, inner: number, bias: boolean) => {
    shapes.set(`${name}.weight`, [out, inner]);
    if (bias) shapes.set(`${name}.bias`, [out]);
  };

  shapes.set(EMBEDDING, [vocabSize, hiddenSize]);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = `model.layers.${layer}`;
    shapes.set(`${name}.input_layernorm.weight`, [hiddenSize]);
    linear(`${name}.self_attn.q_proj`, queries, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.k_proj`, keys, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.v_proj`, keys, hiddenSize, config.qkvBias);
    linear(`${name}.self_attn.o_proj`, hiddenSize, queries, config.outputBias);
    shapes.set(`${name}.post_attention_layernorm.weight`, [hiddenSize]);
    linear(`${name}.mlp.gate_proj`, intermediateSize, hiddenSize, config.mlpBias);
    linear(`${name}.mlp.up_proj`, intermediateSize, hiddenSize, config.mlpBias);
    linear(`${name}.mlp.down_proj`, hiddenSize, intermediateSize, config.mlpBias);
  }
  shapes.set('model.norm.weight', [hiddenSize]);
  if (!config.tieWordEmbeddings) linear('lm_head', vocabSize, hiddenSize, false);
  return shapes;
}

/**
 * Checks that the files hold every weight, in the shape that config.json implies. What else they hold is of no matter.
 *
 * @param dir the checkpoint, named where a tensor is in none of its files
 * @throws ModelError naming the tensor, its file where it has one, and both shapes
 */
export function checkTensors(config: ModelConfig, index: TensorIndex, dir: string): void {
  for (const [name, shape] of expectedTensors(config)) {
    const tensor = index.get(name);
    const dtype = index.unsupported?.get(name);
    if (dtype !== undefined) {
      throw new ModelError(dir, name, `is stored as ${dtype} (supported: F32, BF16, F16)`);
    }
    if (!tensor) throw new ModelError(dir, name, `is missing from the weights (expected ${show(shape)})`);
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, axis) => size !== shape[axis])) {
      throw new ModelError(
        tensor.file,
        name,
        `has shape ${show(tensor.shape)}, config.json implies ${show(shape)}`,
      );
    }
  }
}
