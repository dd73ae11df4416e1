import { ModelError, show } from '../../files/file-errors.js';
import type { ModelConfig } from '../config.js';
import { expectedTensors, LAYER_NORMS } from '../weights.js';
import { ARCHITECTURES, type Architecture } from './architectures.js';
import { GGUF_TYPES, type GgufLayout } from './gguf-types.js';
import type { GgufHeader, GgufTensor } from './header.js';

/** GGUF's names of a layer's parts by ours. Source: llama.cpp, gguf-py/gguf/constants.py. */
const LAYER_PARTS = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};
const PARTS = { 'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output' };

/** Frequencies, which are read with the configuration. */
export const ROPE_FACTORS = 'rope_freqs.weight';

/** A weight of the decoder and where it is. */
export interface GgufWeight {
  /** Hugging Face's name of the weight. */
  readonly name: string;
  /** Shape as in safetensors, rows first. */
  readonly shape: readonly number[];
  readonly tensor: GgufTensor;
  readonly layout: GgufLayout;
  /** Rows of a head if the file interleaves its halves: `llama` alone, for another order of RoPE's pairs. */
  readonly interleaved: number | null;
  /** Number that the file has already added to the weight, and that the decoder adds itself. */
  readonly offset: number;
}

/**
 * The weights that the decoder reads.
 *
 * @throws ModelError naming the tensor that is missing, of another shape or a type that is not read, or one that the
 *   decoder does not know: it would change the computation
 */
export function ggufWeights(
  { tensors }: Pick<GgufHeader, 'tensors'>,
  config: ModelConfig,
  { architecture, file }: { readonly architecture: Architecture; readonly file: string },
): readonly GgufWeight[] {
  const left = new Map(tensors);
  left.delete(ROPE_FACTORS);
  const nameIn = ggufNames(config);
  const weights = [...expectedTensors(config)].map(([name, shape]): GgufWeight => {
    const ggufName = nameIn(name);
    const tensor = left.get(ggufName);
    left.delete(ggufName);
    const dims = shape.toReversed();
    if (!tensor) throw new ModelError(file, ggufName, `is missing (expected ${show(dims)})`);
    if (!equal(tensor.dims, dims)) {
      const problem = `has dimensions ${show(tensor.dims)}, the metadata implies ${show(dims)}`;
      throw new ModelError(file, ggufName, problem);
    }
    const { layout } = tensor.type;
    if (!layout) {
      const problem = `${tensor.type.name} is not supported (supported: ${GGUF_TYPES.join(', ')})`;
      throw new ModelError(file, ggufName, problem);
    }
    const turned = ARCHITECTURES[architecture].interleaved && /\.attn_[qk]\./.test(ggufName);
    if (turned && shape.length === 1 && layout.elements > 1) {
      throw new ModelError(file, ggufName, `is a vector of ${tensor.type.name}, which is not supported`);
    }
    return {
      name,
      shape,
      tensor,
      layout,
      interleaved: turned ? config.headDim : null,
      offset: ggufName.endsWith('_norm.weight') ? config.normOffset : 0,
    };
  });
  const [unknown] = left.keys();
  if (unknown !== undefined) {
    throw new ModelError(file, unknown, `is no weight of a ${architecture} model that is supported`);
  }
  return weights;
}

/** `model.layers.3.self_attn.q_proj.weight` → `blk.3.attn_q.weight`. */
function ggufNames({ norms }: Pick<ModelConfig, 'norms'>): (name: string) => string {
  const { attention, mlp } = LAYER_NORMS[norms];
  const names = new Map<string | null, string>([
    ...Object.entries(LAYER_PARTS),
    ...Object.entries(PARTS),
    [attention.before, 'attn_norm'],
    [attention.after, 'post_attention_norm'],
    [mlp.before, 'ffn_norm'],
    [mlp.after, 'post_ffw_norm'],
  ]);
  return (name) => {
    const [, stem = '', kind] = /^(.*)\.(weight|bias)$/.exec(name) ?? [];
    const [, layer, part = ''] = /^model\.layers\.(\d+)\.(.*)$/.exec(stem) ?? [];
    return layer === undefined ? `${names.get(stem)}.${kind}` : `blk.${layer}.${names.get(part)}.${kind}`;
  };
}

const equal = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, i) => size === b[i]);
