import { ModelError, show } from '../files/errors.js';
import { type RawConfig, readConfig } from './config-schema.js';
import { type DecoderTraits, FAMILIES, type Family, type FamilyTraits } from './families.js';
import { parseQuantization, type Quantization } from './quantized/settings.js';
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
  /** Bias of `o_proj`. */
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  readonly maxPositions: number;
  /** The distinct rotary embeddings, one or two. */
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
  const heads = raw.num_attention_heads;
  // Absent, transformers assumes a size of one model of the family. Saved configurations always have the key, and the
  // shapes of the weights reveal a wrong guess.
  const kvHeads = raw.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0)
    refuse('num_key_value_heads', `${kvHeads} does not divide ${heads} attention heads`);
  checkActivation(raw, traits, refuse);
  const headDim = headDimOf(raw, traits, refuse);
  const maxPositions = raw.max_position_embeddings ?? traits.maxPositions;
  const slidingWindow = slidingWindowOf(raw, traits, refuse);
  const { norms, normOffset, qkNorm, activation, fused } = traits;
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
    ...biasesOf(raw, traits, refuse),
    ...rotationOf(raw, { traits, headDim, maxPositions }, slidingWindow, refuse),
    embeddingScale: traits.scalesEmbeddings ? Math.sqrt(raw.hidden_size) : 1,
    ...scoresOf(raw, traits, headDim, refuse),
    slidingWindow,
    quantization: parseQuantization(raw.quantization_config, file, refuse),
    ...endsOf(raw, traits, refuse),
  };
}

function checkActivation(raw: RawConfig, { activation }: FamilyTraits, refuse: Refuse): void {
  const key = raw.hidden_activation == null ? 'hidden_act' : 'hidden_activation';
  const name = raw[key] ?? activation;
  if (name !== activation) refuse(key, `${show(name)} is not supported (supported: ${activation})`);
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

function biasesOf(
  raw: RawConfig,
  { attentionBias, mlpBias }: FamilyTraits,
  refuse: Refuse,
): Pick<ModelConfig, 'qkvBias' | 'outputBias' | 'mlpBias'> {
  const unsupported = `true is not supported for ${raw.model_type}`;
  if (raw.mlp_bias && mlpBias === 'none') refuse('mlp_bias', unsupported);
  if (raw.attention_bias && attentionBias === 'none') refuse('attention_bias', unsupported);
  const byOption = attentionBias === 'option' && raw.attention_bias === true;
  return {
    qkvBias: attentionBias === 'qkv' || byOption,
    outputBias: byOption,
    mlpBias: raw.mlp_bias ?? false,
  };
}

/** Rotary embeddings of each layer. A text may be as long as the frequencies hold. */
function rotationOf(
  raw: RawConfig,
  model: { readonly traits: FamilyTraits; readonly headDim: number; readonly maxPositions: number },
  slidingWindow: ModelConfig['slidingWindow'],
  refuse: Refuse,
): Pick<ModelConfig, 'ropes' | 'layerRopes' | 'maxPositions'> {
  const { traits, maxPositions } = model;
  const { full, sliding } = ropesOf(raw, model, refuse);
  const { scaling } = full;
  const limit = scaling?.type === 'longrope' ? scaling.originalMaxPositions : maxPositions;
  const named = raw.no_rope_layers;
  if (named && named.length !== raw.num_hidden_layers) {
    refuse('no_rope_layers', `names ${named.length} layers of ${raw.num_hidden_layers}`);
  }
  if (named && traits.noRopeInterval === null) {
    refuse('no_rope_layers', `is not supported for ${raw.model_type}`);
  }
  const interval = traits.noRopeInterval && (raw.no_rope_layer_interval ?? traits.noRopeInterval);
  const layerRopes = slidingWindow.map((window, layer) => {
    const rotates = named ? named[layer] === 1 : interval === null || (layer + 1) % interval !== 0;
    return rotates ? (window !== null && full !== sliding ? 1 : 0) : null;
  });
  return {
    maxPositions: Math.min(maxPositions, limit),
    ropes: full === sliding ? [full] : [full, sliding],
    layerRopes,
  };
}

/** How products of queries and keys become scores, and the last layer logits. */
function scoresOf(
  raw: RawConfig,
  traits: FamilyTraits,
  headDim: number,
  refuse: Refuse,
): Pick<ModelConfig, 'attentionScale' | 'attentionCap' | 'logitCap'> {
  const {
    query_pre_attn_scalar: scalar,
    attn_logit_softcapping: attentionCap = traits.attentionCap,
    final_logit_softcapping: logitCap = traits.logitCap,
  } = raw;
  const unsupported = `is not supported for ${raw.model_type}`;
  const scales = traits.queryScalar !== null;
  if (scalar && !scales) refuse('query_pre_attn_scalar', unsupported);
  if (attentionCap && traits.attentionCap === null) refuse('attn_logit_softcapping', unsupported);
  if (logitCap && !scales) refuse('final_logit_softcapping', unsupported);
  return { attentionScale: 1 / Math.sqrt(scalar ?? traits.queryScalar ?? headDim), attentionCap, logitCap };
}

/** Absent, the window of a family that has one is 4096 positions; where it is null there is none. */
function slidingWindowOf(
  raw: RawConfig,
  { sliding }: FamilyTraits,
  refuse: Refuse,
): readonly (number | null)[] {
  const family = raw.model_type;
  if (raw.use_sliding_window && sliding === 'none') {
    refuse('use_sliding_window', `true is not supported for ${family}`);
  }
  const on = sliding === 'option' ? raw.use_sliding_window === true : sliding !== 'none';
  const window = !on ? null : raw.sliding_window === undefined ? 4096 : raw.sliding_window;
  const firstSliding = sliding === 'option' ? (raw.max_window_layers ?? 28) : 0;
  const named = raw.layer_types;
  if (named && named.length !== raw.num_hidden_layers) {
    refuse('layer_types', `names ${named.length} layers of ${raw.num_hidden_layers}`);
  }
  const pattern = raw.sliding_window_pattern ?? raw._sliding_window_pattern;
  const butEvery = typeof sliding === 'object' ? (pattern ?? sliding.butEvery) : null;
  return Array.from({ length: raw.num_hidden_layers }, (_, layer) => {
    const byIndex =
      window !== null && layer >= firstSliding && (butEvery === null || (layer + 1) % butEvery !== 0);
    const type = named?.[layer] ?? (byIndex ? 'sliding_attention' : 'full_attention');
    if (type === 'sliding_attention' && window === null) {
      refuse(`layer_types[${layer}]`, `${show(type)}, but no sliding window is in use`);
    }
    if (type === 'full_attention' && window !== null && sliding === 'all') {
      refuse(
        `layer_types[${layer}]`,
        `${show(type)}, but ${family} slides in every layer (sliding_window: ${window})`,
      );
    }
    return type === 'sliding_attention' ? window : null;
  });
}

/** Ids that begin and end a text. */
function endsOf(
  raw: RawConfig,
  traits: FamilyTraits,
  refuse: Refuse,
): Pick<ModelConfig, 'bosTokenId' | 'eosTokenIds'> {
  const bosTokenId = raw.bos_token_id === undefined ? traits.bosTokenId : raw.bos_token_id;
  const assumed = traits.eosTokenId === null ? [] : [traits.eosTokenId];
  const eosTokenIds = raw.eos_token_id === undefined ? assumed : (raw.eos_token_id ?? []);
  const outside = (id: number) => id >= raw.vocab_size;
  const problem = (id: number) => `${id} is outside the vocabulary of ${raw.vocab_size}`;
  if (bosTokenId !== null && outside(bosTokenId)) refuse('bos_token_id', problem(bosTokenId));
  const beyond = eosTokenIds.find(outside);
  if (beyond !== undefined) refuse('eos_token_id', problem(beyond));
  return { bosTokenId, eosTokenIds };
}
