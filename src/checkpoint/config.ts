import { ModelError, show } from '../files/file-errors.js';
import { type RawConfig, readConfig } from './config-schema.js';
import { type DecoderTraits, FAMILIES, type Family, type FamilyTraits } from './model-families.js';
import { parseQuantization, type Quantization } from './quantized/quantization-settings.js';
import { type Refuse, type Rope, ropesOf } from './rope-config.js';

/** config.json, with every default filled in. Sizes count elements, positions count tokens. */
export interface ModelConfig extends DecoderTraits {
  readonly family: Family;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  /** Query heads; a multiple of `kvHeads`. */
  readonly heads: number;
  readonly kvHeads: number;
  /** Size of a head, an even number. Not always hiddenSize / heads. */
  readonly headDim: number;
  /** Rows of the embedding, often more than the tokenizer has tokens. */
  readonly vocabSize: number;
  readonly normEpsilon: number;
  /** Whether the output head is the embedding matrix. */
  readonly tieWordEmbeddings: boolean;
  readonly qkvBias: boolean;
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  readonly maxPositions: number;
  readonly ropes: readonly Rope[];
  /** Per layer: which of them rotates its queries and keys; `null`: none. */
  readonly layerRopes: readonly (number | null)[];
  /** Factor of the embeddings before the first layer. */
  readonly embeddingScale: number;
  /** Factor of the products of queries and keys. */
  readonly attentionScale: number;
  /** Bound c of attention scores, and of logits: c · tanh(x / c). */
  readonly attentionCap: number | null;
  readonly logitCap: number | null;
  /** Per layer: how many positions a token attends to, itself included; `null`: all before it. */
  readonly slidingWindow: readonly (number | null)[];
  /** How matrices are quantised; `null`: they are not. */
  readonly quantization: Quantization | null;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
}

/**
 * Reads config.json. Absent keys get the defaults of transformers; keys that would change the computation in a way
 * the decoder does not implement are refused, never ignored.
 *
 * @throws ModelError naming the field
 */
export function parseConfig(json: unknown, file: string): ModelConfig {
  const refuse: Refuse = (field, problem) => {
    throw new ModelError(file, field, problem);
  };
  const raw = readConfig(json, file, refuse);
  const family = raw.model_type;
  const traits: FamilyTraits = FAMILIES[family];
  checkSupported(raw, traits, refuse);
  const heads = raw.num_attention_heads;
  // Absent, transformers assumes a size of one model of the family. Saved configurations always have the key, and the
  // shapes of the weights reveal a wrong guess.
  const kvHeads = raw.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0)
    refuse('num_key_value_heads', `${kvHeads} does not divide ${heads} attention heads`);
  const headDim = headDimOf(raw, traits, refuse);
  const slidingWindow = slidingWindowOf(raw, traits, refuse);
  const { norms, normOffset, qkNorm, activation, fused } = traits;
  const biased = traits.attentionBias === 'option' && raw.attention_bias === true;
  const { attn_logit_softcapping: attentionCap = traits.attentionCap } = raw;
  const { final_logit_softcapping: logitCap = traits.logitCap } = raw;
  return {
    family,
    norms,
    normOffset,
    qkNorm,
    activation,
    fused,
    hiddenSize: raw.hidden_size,
    intermediateSize: raw.intermediate_size,
    layers: raw.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    vocabSize: raw.vocab_size,
    normEpsilon: raw.rms_norm_eps ?? traits.normEpsilon,
    tieWordEmbeddings: raw.tie_word_embeddings ?? traits.tied,
    qkvBias: biased || traits.attentionBias === 'qkv',
    outputBias: biased,
    mlpBias: raw.mlp_bias ?? false,
    ...rotationOf(raw, { traits, headDim }, slidingWindow, refuse),
    embeddingScale: traits.scalesEmbeddings ? Math.sqrt(raw.hidden_size) : 1,
    attentionScale: 1 / Math.sqrt(raw.query_pre_attn_scalar ?? traits.queryScalar ?? headDim),
    attentionCap,
    logitCap,
    slidingWindow,
    quantization: parseQuantization(raw.quantization_config, file, refuse),
    ...endsOf(raw, traits, refuse),
  };
}

/** Refuses keys of other families, which would change the computation. */
function checkSupported(raw: RawConfig, traits: FamilyTraits, refuse: Refuse): void {
  const key = raw.hidden_activation == null ? 'hidden_act' : 'hidden_activation';
  const activation = raw[key] ?? traits.activation;
  if (activation !== traits.activation)
    refuse(key, `${show(activation)} is not supported (supported: ${traits.activation})`);
  const lacks = {
    mlp_bias: traits.mlpBias === 'none',
    attention_bias: traits.attentionBias === 'none',
    use_sliding_window: traits.sliding === 'none',
    no_rope_layers: traits.noRopeInterval === null,
    query_pre_attn_scalar: traits.queryScalar === null,
    attn_logit_softcapping: traits.attentionCap === null,
    final_logit_softcapping: traits.queryScalar === null,
  };
  for (const key of ['no_rope_layers', 'layer_types'] as const) {
    const length = raw[key]?.length ?? raw.num_hidden_layers;
    if (length !== raw.num_hidden_layers) refuse(key, `names ${length} layers of ${raw.num_hidden_layers}`);
  }
  for (const key of Object.keys(lacks) as (keyof typeof lacks)[])
    if (lacks[key] && raw[key]) refuse(key, `${show(raw[key])} is not supported for ${raw.model_type}`);
}

function headDimOf(raw: RawConfig, traits: FamilyTraits, refuse: Refuse): number {
  const headDim = raw.head_dim ?? traits.headDim ?? raw.hidden_size / raw.num_attention_heads;
  if (!Number.isInteger(headDim)) {
    refuse(
      'hidden_size',
      `${raw.hidden_size} is not a multiple of ${raw.num_attention_heads} attention heads`,
    );
  }
  if (headDim % 2 !== 0) refuse('head_dim', `${headDim} is odd, and rotary embedding turns pairs`);
  return headDim;
}

/** Rotary embeddings of each layer. A text may be as long as the frequencies hold. */
function rotationOf(
  raw: RawConfig,
  { traits, headDim }: { readonly traits: FamilyTraits; readonly headDim: number },
  slidingWindow: ModelConfig['slidingWindow'],
  refuse: Refuse,
): Pick<ModelConfig, 'ropes' | 'layerRopes' | 'maxPositions'> {
  const maxPositions = raw.max_position_embeddings ?? traits.maxPositions;
  const { full, sliding } = ropesOf(raw, { traits, headDim, maxPositions }, refuse);
  const { scaling } = full;
  const limit = scaling?.type === 'longrope' ? scaling.originalMaxPositions : maxPositions;
  const interval = traits.noRopeInterval && (raw.no_rope_layer_interval ?? traits.noRopeInterval);
  const layerRopes = slidingWindow.map((window, layer) => {
    const byIndex = interval === null || (layer + 1) % interval !== 0;
    const rotates = raw.no_rope_layers ? raw.no_rope_layers[layer] === 1 : byIndex;
    return rotates ? (window !== null && full !== sliding ? 1 : 0) : null;
  });
  return {
    maxPositions: Math.min(maxPositions, limit),
    ropes: full === sliding ? [full] : [full, sliding],
    layerRopes,
  };
}

/** Absent, the window of a family that has one is 4096 positions; where it is null there is none. */
function slidingWindowOf(
  raw: RawConfig,
  { sliding }: FamilyTraits,
  refuse: Refuse,
): readonly (number | null)[] {
  const on = sliding === 'option' ? raw.use_sliding_window === true : sliding !== 'none';
  const window = !on ? null : raw.sliding_window === undefined ? 4096 : raw.sliding_window;
  const firstSliding = sliding === 'option' ? (raw.max_window_layers ?? 28) : 0;
  const pattern = raw.sliding_window_pattern ?? raw._sliding_window_pattern;
  const butEvery = typeof sliding === 'object' ? (pattern ?? sliding.butEvery) : null;
  return Array.from({ length: raw.num_hidden_layers }, (_, layer) => {
    const byIndex =
      window !== null && layer >= firstSliding && (butEvery === null || (layer + 1) % butEvery !== 0);
    const type = raw.layer_types?.[layer] ?? (byIndex ? 'sliding_attention' : 'full_attention');
    const mistyped = (problem: string) => refuse(`layer_types[${layer}]`, `${show(type)}, but ${problem}`);
    if (type === 'sliding_attention' && window === null) mistyped('no sliding window is in use');
    if (type === 'full_attention' && window !== null && sliding === 'all')
      mistyped(`${raw.model_type} slides in every layer (sliding_window: ${window})`);
    return type === 'sliding_attention' ? window : null;
  });
}

function endsOf(
  raw: RawConfig,
  traits: FamilyTraits,
  refuse: Refuse,
): Pick<ModelConfig, 'bosTokenId' | 'eosTokenIds'> {
  const bosTokenId = raw.bos_token_id === undefined ? traits.bosTokenId : raw.bos_token_id;
  const assumed = traits.eosTokenId === null ? [] : [traits.eosTokenId];
  const eosTokenIds = raw.eos_token_id === undefined ? assumed : (raw.eos_token_id ?? []);
  const check = (key: string, ids: readonly number[]) => {
    const outside = ids.find((id) => id >= raw.vocab_size);
    if (outside !== undefined) refuse(key, `${outside} is outside the vocabulary of ${raw.vocab_size}`);
  };
  check('bos_token_id', bosTokenId === null ? [] : [bosTokenId]);
  check('eos_token_id', eosTokenIds);
  return { bosTokenId, eosTokenIds };
}
