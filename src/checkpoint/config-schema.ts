import { z } from 'zod';
import { show } from '../files/file-errors.js';
import { isRecord, oneOf, parseJson } from '../files/json.js';
import { tokenIds } from './generation-config.js';
import { FAMILIES, type Family } from './model-families.js';
import { type Refuse, ropeKeys } from './rope-config.js';

/** A size: far above any model, far below what would overflow or exhaust memory before an error is seen. */
const size = (max: number) => z.int().min(1).max(max);

const FAMILY_NAMES = Object.keys(FAMILIES) as Family[];
const cap = z.number().positive().nullish();

const schema = z.object({
  model_type: oneOf(FAMILY_NAMES),
  hidden_size: size(2 ** 16),
  intermediate_size: size(2 ** 20),
  num_hidden_layers: size(1024),
  num_attention_heads: size(1024),
  num_key_value_heads: size(1024).nullish(),
  head_dim: size(1024).nullish(),
  vocab_size: size(2 ** 24),
  rms_norm_eps: z.number().positive().lt(1).nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  hidden_act: z.string().nullish(),
  hidden_activation: z.string().nullish(),
  max_position_embeddings: size(2 ** 31).optional(),
  ...ropeKeys,
  no_rope_layers: z.array(z.union([z.literal(0), z.literal(1)])).nullish(),
  no_rope_layer_interval: size(1024).nullish(),
  query_pre_attn_scalar: z.number().positive().nullish(),
  attn_logit_softcapping: cap,
  final_logit_softcapping: cap,
  use_bidirectional_attention: z.literal(false, 'only false is supported').nullish(),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: size(2 ** 31).nullish(),
  max_window_layers: z.int().min(0).nullish(),
  sliding_window_pattern: size(1024).nullish(),
  _sliding_window_pattern: size(1024).nullish(),
  layer_types: z.array(oneOf(['full_attention', 'sliding_attention'])).nullish(),
  quantization_config: z.unknown().optional(),
  bos_token_id: z.int().min(0).nullish(),
  eos_token_id: tokenIds,
});

export type RawConfig = z.output<typeof schema>;

/** Kinds of models whose other keys may look like those of a supported family, by keys that only they have. */
const OTHER_KINDS = [
  [['num_local_experts', 'num_experts', 'n_routed_experts'], 'is a mixture of experts'],
  [['text_config', 'vision_config', 'audio_config'], 'reads more than text'],
] as const;

/** config.json as it is. */
export function readConfig(json: unknown, file: string, refuse: Refuse): RawConfig {
  if (isRecord(json)) {
    for (const [keys, kind] of OTHER_KINDS) {
      if (!keys.some((key) => json[key] != null)) continue;
      const supported = FAMILY_NAMES.join(', ');
      refuse(
        'model_type',
        `${show(json.model_type)} ${kind}, which is not supported (supported: ${supported})`,
      );
    }
  }
  return parseJson(schema, json, file);
}
