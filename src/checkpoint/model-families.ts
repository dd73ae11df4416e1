/** Positions of the norms in a layer. `around`: before and after both the attention and the feed-forward part. */
export type NormPlacement = 'before' | 'around' | 'after';

/** Traits of a family that change the computation of its decoder. */
export interface DecoderTraits {
  readonly norms: NormPlacement;
  /** Added to the weight of every norm. */
  readonly normOffset: 0 | 1;
  /** Norms of queries and keys before rotation: of each head, or of all heads together. */
  readonly qkNorm: 'head' | 'all' | null;
  /** Activation of the gated feed-forward part, by its name in config.json. */
  readonly activation: 'silu' | 'gelu_pytorch_tanh';
  /** Whether q, k and v are one matrix in the files, and gate and up another. */
  readonly fused: boolean;
}

/** Further differences between families, mostly values that transformers assumes if config.json lacks a key. */
export interface FamilyTraits extends DecoderTraits {
  /** Whether embeddings are multiplied by √hiddenSize. */
  readonly scalesEmbeddings: boolean;
  /** Biases of q, k and v; or of all four projections, if `attention_bias` is set. */
  readonly attentionBias: 'qkv' | 'option' | 'none';
  readonly mlpBias: 'option' | 'none';
  /** Layers with a sliding window; `option`: from `max_window_layers` on, if `use_sliding_window` is set. */
  readonly sliding: 'all' | 'option' | 'none' | { readonly butEvery: number };
  /** One layer of so many has no rotary embedding. */
  readonly noRopeInterval: number | null;
  readonly theta: number;
  /** Base of the frequencies of layers with a sliding window, if it differs. */
  readonly localTheta: number | null;
  readonly partialRotary: boolean;
  /** Attention scores are divided by its root; `null`: the size of a head. */
  readonly queryScalar: number | null;
  readonly attentionCap: number | null;
  readonly logitCap: number | null;
  readonly headDim: number | null;
  readonly normEpsilon: number;
  readonly maxPositions: number;
  readonly tied: boolean;
  readonly bosTokenId: number | null;
  readonly eosTokenId: number | null;
}

const LLAMA: FamilyTraits = {
  norms: 'before',
  normOffset: 0,
  qkNorm: null,
  activation: 'silu',
  fused: false,
  scalesEmbeddings: false,
  attentionBias: 'option',
  mlpBias: 'option',
  sliding: 'none',
  noRopeInterval: null,
  theta: 10_000,
  localTheta: null,
  partialRotary: false,
  queryScalar: null,
  attentionCap: null,
  logitCap: null,
  headDim: null,
  normEpsilon: 1e-6,
  maxPositions: 2048,
  tied: false,
  bosTokenId: 1,
  eosTokenId: 2,
};

const QWEN2: FamilyTraits = {
  ...LLAMA,
  attentionBias: 'qkv',
  mlpBias: 'none',
  sliding: 'option',
  maxPositions: 32_768,
  bosTokenId: null,
  eosTokenId: null,
};

const MISTRAL: FamilyTraits = {
  ...LLAMA,
  attentionBias: 'none',
  mlpBias: 'none',
  sliding: 'all',
  maxPositions: 131_072,
};

const GEMMA2: FamilyTraits = {
  ...LLAMA,
  norms: 'around',
  normOffset: 1,
  activation: 'gelu_pytorch_tanh',
  scalesEmbeddings: true,
  mlpBias: 'none',
  sliding: { butEvery: 2 },
  queryScalar: 256,
  attentionCap: 50,
  logitCap: 30,
  headDim: 256,
  maxPositions: 8192,
  tied: true,
  bosTokenId: 2,
  eosTokenId: 1,
};

/** Traits by `model_type` of config.json. Each family is a small difference from another. */
export const FAMILIES = {
  llama: LLAMA,
  qwen2: QWEN2,
  qwen3: { ...QWEN2, attentionBias: 'option', qkNorm: 'head', headDim: 128 },
  mistral: MISTRAL,
  gemma2: GEMMA2,
  gemma3_text: {
    ...GEMMA2,
    qkNorm: 'head',
    attentionCap: null,
    logitCap: null,
    sliding: { butEvery: 6 },
    theta: 1e6,
    localTheta: 10_000,
    maxPositions: 131_072,
  },
  phi3: {
    ...MISTRAL,
    fused: true,
    partialRotary: true,
    normEpsilon: 1e-5,
    maxPositions: 4096,
    eosTokenId: 32_000,
  },
  smollm3: {
    ...LLAMA,
    noRopeInterval: 4,
    theta: 2e6,
    maxPositions: 32_768,
    tied: true,
    bosTokenId: 128_000,
    eosTokenId: 128_001,
  },
  olmo2: {
    ...LLAMA,
    norms: 'after',
    qkNorm: 'all',
    mlpBias: 'none',
    normEpsilon: 1e-5,
    bosTokenId: null,
    eosTokenId: 50_279,
  },
} as const satisfies Record<string, FamilyTraits>;

export type Family = keyof typeof FAMILIES;
