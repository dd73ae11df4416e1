import { z } from 'zod';
import { ModelError, show } from '../files/errors.js';
import { oneOf, parseJson } from '../files/json.js';
import { tokenIds } from './generation-config.js';

/** The architectures of the decoder, by the `model_type` of config.json. */
export const FAMILIES = ['llama', 'qwen2', 'mistral'] as const;
export type Family = (typeof FAMILIES)[number];

/** A type that weights can be stored in. */
export type StoredType = 'fp32' | 'bf16' | 'fp16';

/** How rotary frequencies are stretched beyond the length that the model was first trained on. */
export type RopeScaling =
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      /** Positions of the first training. */
      readonly originalMaxPositions: number;
    }
  | { readonly type: 'linear'; readonly factor: number };

/** config.json, with every default filled in. Sizes count elements, positions count tokens. */
export interface ModelConfig {
  readonly family: Family;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  /** Query heads; a multiple of `kvHeads`. */
  readonly heads: number;
  readonly kvHeads: number;
  /** Even. Not always hiddenSize / heads. */
  readonly headDim: number;
  /** Rows of the embedding, often more than the tokenizer has tokens. */
  readonly vocabSize: number;
  readonly normEpsilon: number;
  /** Whether the output head is the embedding matrix. */
  readonly tieWordEmbeddings: boolean;
  readonly qkvBias: boolean;
  /** Bias of `o_proj`. */
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  readonly maxPositions: number;
  readonly rope: { readonly theta: number; readonly scaling: RopeScaling | null };
  /** Per layer: how many positions a token attends to, itself included; `null`: all before it. */
  readonly slidingWindow: readonly (number | null)[];
  /** What config.json says; each tensor of the files has its own. */
  readonly storedType: StoredType | null;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
}

/** A size: far above any model, far below what would overflow or exhaust memory before an error is seen. */
const size = (max: number) => z.int().min(1).max(max);

const ROPE_TYPES = ['default', 'linear', 'llama3'] as const;
const ropeType = oneOf(ROPE_TYPES).nullish();

const PER_LAYER_ROPE = 'frequencies that differ between layers are not supported';

/** Below 1 frequencies would rise with the dimension, beyond what a number can hold. */
const theta = z.number().min(1).nullish();

const ropeSchema = z.object({
  rope_type: ropeType,
  /** The name of `rope_type` before transformers 4.43. */
  type: ropeType,
  rope_theta: theta,
  factor: z.number().min(1).nullish(),
  low_freq_factor: z.number().positive().nullish(),
  high_freq_factor: z.number().positive().nullish(),
  original_max_position_embeddings: size(2 ** 31).nullish(),
  partial_rotary_factor: z.literal(1).nullish(),
  full_attention: z.undefined(PER_LAYER_ROPE).optional(),
  sliding_attention: z.undefined(PER_LAYER_ROPE).optional(),
});

const schema = z.object({
  model_type: oneOf(FAMILIES),
  hidden_size: size(2 ** 16),
  intermediate_size: size(2 ** 20),
  num_hidden_layers: size(1024),
  num_attention_heads: size(1024),
  num_key_value_heads: size(1024).nullish(),
  head_dim: size(1024).nullish(),
  vocab_size: size(2 ** 24),
  rms_norm_eps: z.number().positive().lt(1).default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  hidden_act: oneOf(['silu']).default('silu'),
  max_position_embeddings: size(2 ** 31).optional(),
  rope_theta: theta,
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: ropeSchema.nullish(),
  partial_rotary_factor: z.literal(1).nullish(),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: size(2 ** 31).nullish(),
  max_window_layers: z.int().min(0).nullish(),
  layer_types: z.array(oneOf(['full_attention', 'sliding_attention'])).nullish(),
  quantization_config: z.null('quantised weights are not supported').optional(),
  torch_dtype: z.unknown().optional(),
  dtype: z.unknown().optional(),
  bos_token_id: z.int().min(0).nullish(),
  eos_token_id: tokenIds,
});

type RawConfig = z.output<typeof schema>;
type NumericRopeKey = 'factor' | 'low_freq_factor' | 'high_freq_factor' | 'original_max_position_embeddings';
type Refuse = (field: string, problem: string) => never;

/** `max_position_embeddings` that transformers assumes where the key is absent. */
const MAX_POSITIONS: Readonly<Record<Family, number>> = { llama: 2048, qwen2: 32768, mistral: 131072 };

const STORED_TYPES = new Map<unknown, StoredType>([
  ['float32', 'fp32'],
  ['bfloat16', 'bf16'],
  ['float16', 'fp16'],
]);

/**
 * Reads config.json. Absent keys get the defaults of transformers; keys that would change the computation in a way
 * the decoder does not implement are refused, never ignored.
 *
 * @throws ModelError naming the field
 */
export function parseConfig(json: unknown, file: string): ModelConfig {
  const raw = parseJson(schema, json, file);
  const refuse: Refuse = (field, problem) => {
    throw new ModelError(file, field, problem);
  };
  const family = raw.model_type;
  const heads = raw.num_attention_heads;
  // Absent, transformers assumes 32 for Qwen2 and 8 for Mistral, sizes of one model each. Saved configurations always
  // have the key, and the shapes of the weights reveal a wrong guess.
  const kvHeads = raw.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0)
    refuse('num_key_value_heads', `${kvHeads} does not divide ${heads} attention heads`);
  const vocabSize = raw.vocab_size;
  return {
    family,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads,
    kvHeads,
    headDim: headDimOf(raw, refuse),
    vocabSize,
    normEpsilon: raw.rms_norm_eps,
    tieWordEmbeddings: raw.tie_word_embeddings,
    ...biasesOf(raw, refuse),
    maxPositions: raw.max_position_embeddings ?? MAX_POSITIONS[family],
    rope: ropeOf(raw, refuse),
    slidingWindow: slidingWindowOf(raw, refuse),
    storedType: STORED_TYPES.get(raw.dtype ?? raw.torch_dtype) ?? null,
    ...endsOf(raw, refuse),
  };
}

function headDimOf(raw: RawConfig, refuse: Refuse): number {
  const headDim = raw.head_dim ?? raw.hidden_size / raw.num_attention_heads;
  if (!Number.isInteger(headDim)) {
    refuse(
      'hidden_size',
      `${raw.hidden_size} is not a multiple of ${raw.num_attention_heads} attention heads`,
    );
  }
  if (headDim % 2 !== 0) refuse('head_dim', `${headDim} is odd, and rotary embedding turns pairs`);
  return headDim;
}

/** Llama's `attention_bias` covers q, k, v and o; Qwen2 has q, k and v always; Mistral has none. */
function biasesOf(raw: RawConfig, refuse: Refuse): Pick<ModelConfig, 'qkvBias' | 'outputBias' | 'mlpBias'> {
  const family = raw.model_type;
  if (family === 'llama') {
    const attention = raw.attention_bias ?? false;
    return { qkvBias: attention, outputBias: attention, mlpBias: raw.mlp_bias ?? false };
  }
  if (raw.mlp_bias) refuse('mlp_bias', `true is not supported for ${family}`);
  if (raw.attention_bias && family === 'mistral')
    refuse('attention_bias', `true is not supported for ${family}`);
  return { qkvBias: family === 'qwen2', outputBias: false, mlpBias: false };
}

/** transformers 5 writes `rope_parameters` with `rope_theta` inside, before that `rope_scaling` and `rope_theta`. */
function ropeOf(raw: RawConfig, refuse: Refuse): ModelConfig['rope'] {
  const field = raw.rope_scaling ? 'rope_scaling' : 'rope_parameters';
  const block = raw.rope_scaling ?? raw.rope_parameters ?? {};
  const type = block.rope_type ?? block.type ?? 'default';
  const need = (key: NumericRopeKey): number =>
    block[key] ?? refuse(`${field}.${key}`, `is missing, and ${type} needs it`);

  const theta = block.rope_theta ?? raw.rope_parameters?.rope_theta ?? raw.rope_theta ?? 10_000;
  if (type === 'linear') return { theta, scaling: { type, factor: need('factor') } };
  if (type === 'llama3') {
    const lowFreqFactor = need('low_freq_factor');
    const highFreqFactor = need('high_freq_factor');
    if (highFreqFactor <= lowFreqFactor) {
      refuse(`${field}.high_freq_factor`, `${highFreqFactor} is not above low_freq_factor, ${lowFreqFactor}`);
    }
    const originalMaxPositions = need('original_max_position_embeddings');
    return {
      theta,
      scaling: { type, factor: need('factor'), lowFreqFactor, highFreqFactor, originalMaxPositions },
    };
  }
  if (block.factor) refuse(`${field}.factor`, 'is set, but rope_type does not say how to scale');
  return { theta, scaling: null };
}

/**
 * Mistral windows every layer (4096 positions where the key is absent, none where it is null); Qwen2 those from
 * `max_window_layers` on, or those that `layer_types` names, if `use_sliding_window` is set; Llama none.
 */
function slidingWindowOf(raw: RawConfig, refuse: Refuse): readonly (number | null)[] {
  const family = raw.model_type;
  const on = family === 'mistral' || (family === 'qwen2' && raw.use_sliding_window === true);
  const window = !on ? null : raw.sliding_window === undefined ? 4096 : raw.sliding_window;
  const firstSliding = family === 'qwen2' ? (raw.max_window_layers ?? 28) : 0;
  const named = raw.layer_types;
  if (named && named.length !== raw.num_hidden_layers) {
    refuse('layer_types', `names ${named.length} layers of ${raw.num_hidden_layers}`);
  }
  return Array.from({ length: raw.num_hidden_layers }, (_, layer) => {
    const byIndex = window !== null && layer >= firstSliding;
    const type = named?.[layer] ?? (byIndex ? 'sliding_attention' : 'full_attention');
    if (type === 'sliding_attention' && window === null) {
      refuse(`layer_types[${layer}]`, `${show(type)}, but no sliding window is in use`);
    }
    if (type === 'full_attention' && window !== null && family === 'mistral') {
      refuse(
        `layer_types[${layer}]`,
        `${show(type)}, but mistral slides in every layer (sliding_window: ${window})`,
      );
    }
    return type === 'sliding_attention' ? window : null;
  });
}

/** Ids that begin and end a text. Llama's and Mistral's classes assume 1 and 2 where the keys are absent. */
function endsOf(raw: RawConfig, refuse: Refuse): Pick<ModelConfig, 'bosTokenId' | 'eosTokenIds'> {
  const assumed = raw.model_type !== 'qwen2';
  const bosTokenId = raw.bos_token_id === undefined && assumed ? 1 : (raw.bos_token_id ?? null);
  const eosTokenIds = raw.eos_token_id === undefined && assumed ? [2] : (raw.eos_token_id ?? []);
  const outside = (id: number) => id >= raw.vocab_size;
  const problem = (id: number) => `${id} is outside the vocabulary of ${raw.vocab_size}`;
  if (bosTokenId !== null && outside(bosTokenId)) refuse('bos_token_id', problem(bosTokenId));
  const beyond = eosTokenIds.find(outside);
  if (beyond !== undefined) refuse('eos_token_id', problem(beyond));
  return { bosTokenId, eosTokenIds };
}
