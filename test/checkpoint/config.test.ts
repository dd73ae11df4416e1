import { describe, expect, it } from 'vitest';
import { parseConfig } from '#src/checkpoint/config.js';
import { FIXTURES, fixture, json, modelError, REASONER } from '../support/graphs.js';

const LLAMA = {
  model_type: 'llama',
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  vocab_size: 640,
};
const QWEN2 = { ...LLAMA, model_type: 'qwen2' };
const MISTRAL = { ...LLAMA, model_type: 'mistral' };
const QWEN3 = { ...LLAMA, model_type: 'qwen3' };
const GEMMA2 = { ...LLAMA, model_type: 'gemma2' };
const GEMMA3 = { ...LLAMA, model_type: 'gemma3_text' };
const PHI3 = { ...LLAMA, model_type: 'phi3', eos_token_id: 2 };
const SMOLLM3 = { ...LLAMA, model_type: 'smollm3', bos_token_id: 1, eos_token_id: 2 };
const OLMO2 = { ...LLAMA, model_type: 'olmo2', eos_token_id: 2 };

const parse = (config: object) => parseConfig(config, 'config.json');

describe('parseConfig', () => {
  it.each([...FIXTURES.map(fixture), REASONER])('reads %s', async (dir) => {
    const raw = await json(dir, 'config.json');
    expect(parse(raw)).toMatchObject({
      family: raw.model_type,
      hiddenSize: raw.hidden_size,
      intermediateSize: raw.intermediate_size,
      layers: raw.num_hidden_layers,
      heads: raw.num_attention_heads,
      kvHeads: raw.num_key_value_heads,
      headDim: raw.head_dim ?? Number(raw.hidden_size) / Number(raw.num_attention_heads),
      vocabSize: raw.vocab_size,
      normEpsilon: raw.rms_norm_eps,
      tieWordEmbeddings: raw.tie_word_embeddings,
      qkvBias: raw.model_type === 'qwen2',
      outputBias: false,
      mlpBias: false,
      maxPositions: raw.max_position_embeddings,
      bosTokenId: raw.bos_token_id,
      eosTokenIds: [raw.eos_token_id],
    });
  });

  it('fills absent keys with the defaults of transformers', () => {
    expect(parse(LLAMA)).toEqual({
      family: 'llama',
      norms: 'before',
      normOffset: 0,
      qkNorm: null,
      activation: 'silu',
      fused: false,
      hiddenSize: 32,
      intermediateSize: 64,
      layers: 3,
      heads: 4,
      kvHeads: 4,
      headDim: 8,
      vocabSize: 640,
      normEpsilon: 1e-6,
      tieWordEmbeddings: false,
      qkvBias: false,
      outputBias: false,
      mlpBias: false,
      maxPositions: 2048,
      ropes: [{ theta: 10_000, dimensions: 8, scaling: null }],
      layerRopes: [0, 0, 0],
      embeddingScale: 1,
      attentionScale: 1 / Math.sqrt(8),
      attentionCap: null,
      logitCap: null,
      slidingWindow: [null, null, null],
      quantization: null,
      bosTokenId: 1,
      eosTokenIds: [2],
    });
    expect(parse(QWEN2)).toMatchObject({ maxPositions: 32_768, bosTokenId: null, eosTokenIds: [] });
    expect(parse(MISTRAL)).toMatchObject({ maxPositions: 131_072, slidingWindow: [4096, 4096, 4096] });
  });

  it('takes the head size from head_dim, else from the hidden size', () => {
    expect(parse({ ...LLAMA, head_dim: 16 }).headDim).toBe(16);
    expect(parse({ ...LLAMA, head_dim: null }).headDim).toBe(8);
  });

  it('knows which projections have a bias', () => {
    const biases = ({ qkvBias, outputBias, mlpBias }: ReturnType<typeof parse>) => [
      qkvBias,
      outputBias,
      mlpBias,
    ];
    expect(biases(parse({ ...LLAMA, attention_bias: true }))).toEqual([true, true, false]);
    expect(biases(parse({ ...LLAMA, mlp_bias: true }))).toEqual([false, false, true]);
    expect(biases(parse(QWEN2))).toEqual([true, false, false]);
    expect(biases(parse(MISTRAL))).toEqual([false, false, false]);
  });

  it('accepts one end token, several, or none', () => {
    expect(parse({ ...LLAMA, eos_token_id: 5 }).eosTokenIds).toEqual([5]);
    expect(parse({ ...LLAMA, eos_token_id: [5, 6] }).eosTokenIds).toEqual([5, 6]);
    expect(parse({ ...LLAMA, eos_token_id: null, bos_token_id: null })).toMatchObject({
      bosTokenId: null,
      eosTokenIds: [],
    });
  });
});

describe('rotary embedding', () => {
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  };
  const scaling = {
    type: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 8192,
  };

  it.each([
    ['no scaling', { rope_theta: 5e5, rope_scaling: null }, { theta: 5e5, scaling: null }],
    ['default', { rope_scaling: { rope_type: 'default' } }, { theta: 1e4, scaling: null }],
    [
      'linear',
      { rope_scaling: { rope_type: 'linear', factor: 2 } },
      { theta: 1e4, scaling: { type: 'linear', factor: 2 } },
    ],
    [
      'the old name of rope_type',
      { rope_scaling: { type: 'linear', factor: 4 } },
      { theta: 1e4, scaling: { type: 'linear', factor: 4 } },
    ],
    [
      'both names, of which the new one counts',
      { rope_scaling: { type: 'linear', rope_type: 'default' } },
      { theta: 1e4, scaling: null },
    ],
    [
      'llama3',
      { rope_theta: 5e5, rope_scaling: { rope_type: 'llama3', ...llama3 } },
      { theta: 5e5, scaling },
    ],
    [
      'rope_parameters of transformers 5',
      { rope_parameters: { rope_theta: 5e5, rope_type: 'llama3', ...llama3 } },
      { theta: 5e5, scaling },
    ],
    ['rope_parameters with θ alone', { rope_parameters: { rope_theta: 1e6 } }, { theta: 1e6, scaling: null }],
  ])('%s', (_, keys, rope) => {
    expect(parse({ ...LLAMA, ...keys }).ropes).toEqual([{ dimensions: 8, ...rope }]);
  });
});

describe('traits of families', () => {
  const rope = (theta: number, scaling: unknown = null) => ({ theta, dimensions: 8, scaling });

  it('Qwen3 has norms of queries and keys, and biases only if told so', () => {
    const config = parse(QWEN3);
    expect(config).toMatchObject({ qkNorm: 'head', headDim: 128, qkvBias: false, outputBias: false });
    expect(parse({ ...QWEN3, attention_bias: true })).toMatchObject({ qkvBias: true, outputBias: true });
  });

  it('Gemma 2 scales embeddings, bounds scores and logits, and slides in every other layer', () => {
    expect(parse({ ...GEMMA2, sliding_window: 8, head_dim: 8 })).toMatchObject({
      norms: 'around',
      normOffset: 1,
      activation: 'gelu_pytorch_tanh',
      tieWordEmbeddings: true,
      embeddingScale: Math.sqrt(32),
      attentionScale: 1 / 16,
      attentionCap: 50,
      logitCap: 30,
      slidingWindow: [8, null, 8],
      ropes: [rope(10_000)],
      layerRopes: [0, 0, 0],
      bosTokenId: 2,
      eosTokenIds: [1],
      qkNorm: null,
    });
    const uncapped = { ...GEMMA2, attn_logit_softcapping: null, final_logit_softcapping: null };
    expect(parse(uncapped)).toMatchObject({ attentionCap: null, logitCap: null });
  });

  it.each([
    [
      'as published',
      {
        rope_theta: 1e6,
        rope_local_base_freq: 1e4,
        rope_scaling: { rope_type: 'linear', factor: 8 },
        sliding_window_pattern: 2,
        query_pre_attn_scalar: 4,
      },
    ],
    [
      'as transformers 5 writes it',
      {
        rope_parameters: {
          full_attention: { rope_type: 'linear', rope_theta: 1e6, factor: 8 },
          sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
        },
        layer_types: ['sliding_attention', 'full_attention', 'sliding_attention'],
        query_pre_attn_scalar: 4,
      },
    ],
  ])('Gemma 3 rotates layers with a window more slowly: %s', (_, keys) => {
    expect(parse({ ...GEMMA3, head_dim: 8, sliding_window: 8, ...keys })).toMatchObject({
      qkNorm: 'head',
      attentionCap: null,
      logitCap: null,
      attentionScale: 0.5,
      ropes: [rope(1e6, { type: 'linear', factor: 8 }), rope(1e4)],
      layerRopes: [1, 0, 1],
    });
  });

  it('Gemma 3 slides in five layers of six unless the file says otherwise', () => {
    const { slidingWindow } = parse({ ...GEMMA3, num_hidden_layers: 7 });
    expect(slidingWindow).toEqual([4096, 4096, 4096, 4096, 4096, null, 4096]);
  });

  const phi4 = {
    ...PHI3,
    max_position_embeddings: 131_072,
    original_max_position_embeddings: 4096,
    sliding_window: null,
    partial_rotary_factor: 0.75,
    rope_scaling: { type: 'longrope', short_factor: [1, 2, 3], long_factor: [4, 5, 6] },
  };

  it('Phi-3 is fused, rotates a part of each head, and goes as far as its short factors', () => {
    const config = parse(phi4);
    expect(config).toMatchObject({ fused: true, maxPositions: 4096, slidingWindow: [null, null, null] });
    const attentionFactor = Math.sqrt(1 + Math.log(32) / Math.log(4096));
    expect(config.ropes).toEqual([
      {
        theta: 10_000,
        dimensions: 6,
        scaling: { type: 'longrope', shortFactors: [1, 2, 3], originalMaxPositions: 4096, attentionFactor },
      },
    ]);
    expect(parse({ ...PHI3, sliding_window: 2047 }).slidingWindow).toEqual([2047, 2047, 2047]);
  });

  it('SmolLM3 does not rotate in every fourth layer, or in those that are named', () => {
    expect(parse({ ...SMOLLM3, num_hidden_layers: 5 })).toMatchObject({
      layerRopes: [0, 0, 0, null, 0],
      tieWordEmbeddings: true,
    });
    expect(parse({ ...SMOLLM3, no_rope_layers: [1, 0, 1] }).layerRopes).toEqual([0, null, 0]);
  });

  it('OLMo 2 has its norms after the parts, and those of queries and keys over all heads', () => {
    expect(parse(OLMO2)).toMatchObject({ norms: 'after', qkNorm: 'all', normEpsilon: 1e-5 });
  });

  it('infers the factors of YaRN', () => {
    const scaling = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32_768 };
    const yarn = {
      type: 'yarn',
      factor: 4,
      betaFast: 32,
      betaSlow: 1,
      truncate: true,
      originalMaxPositions: 32_768,
      attentionFactor: 0.1 * Math.log(4) + 1,
    };
    expect(parse({ ...LLAMA, rope_scaling: scaling }).ropes).toEqual([rope(10_000, yarn)]);
    const told = { ...scaling, attention_factor: 1.5, beta_fast: 8, beta_slow: 2, truncate: false };
    expect(parse({ ...LLAMA, rope_scaling: told }).ropes[0]?.scaling).toMatchObject({
      attentionFactor: 1.5,
      betaFast: 8,
      betaSlow: 2,
      truncate: false,
    });
    const mscale = { ...scaling, mscale: 1, mscale_all_dim: 0.5 };
    const grown = (by: number) => 0.1 * by * Math.log(4) + 1;
    expect(parse({ ...LLAMA, rope_scaling: mscale }).ropes[0]?.scaling).toMatchObject({
      attentionFactor: grown(1) / grown(0.5),
    });
  });
});

describe('sliding window', () => {
  it.each([
    ['Llama has none', { ...LLAMA, sliding_window: 16 }, [null, null, null]],
    ['Mistral: every layer', { ...MISTRAL, sliding_window: 24 }, [24, 24, 24]],
    ['Mistral: none where it is null', { ...MISTRAL, sliding_window: null }, [null, null, null]],
    [
      'Qwen2: none unless it is switched on',
      { ...QWEN2, sliding_window: 16, max_window_layers: 0 },
      [null, null, null],
    ],
    [
      'Qwen2: layers from max_window_layers on',
      { ...QWEN2, use_sliding_window: true, sliding_window: 16, max_window_layers: 1 },
      [null, 16, 16],
    ],
    [
      'Qwen2: 28 full layers unless the file says so',
      { ...QWEN2, use_sliding_window: true, sliding_window: 16 },
      [null, null, null],
    ],
    [
      'Qwen2: layer_types wins',
      {
        ...QWEN2,
        use_sliding_window: true,
        sliding_window: 16,
        max_window_layers: 3,
        layer_types: ['sliding_attention', 'full_attention', 'sliding_attention'],
      },
      [16, null, 16],
    ],
  ])('%s', (_, config, windows) => {
    expect(parse(config).slidingWindow).toEqual(windows);
  });
});

describe('refusals name file and field', () => {
  const full = 'full_attention';
  const sliding = 'sliding_attention';
  const refused: [string, unknown, string, RegExp][] = [
    ['no object', [], '', /expected object/],
    [
      'an unknown family',
      { ...LLAMA, model_type: 'granite' },
      'model_type',
      /"granite" is not supported \(supported: llama, qwen2, qwen3, mistral, gemma2, gemma3_text, phi3, /,
    ],
    [
      'a mixture of experts',
      { ...QWEN3, model_type: 'qwen3_moe', num_experts: 128 },
      'model_type',
      /"qwen3_moe" is a mixture of experts, which is not supported/,
    ],
    [
      'a model of images',
      { model_type: 'gemma3', text_config: GEMMA3 },
      'model_type',
      /"gemma3" reads more than text/,
    ],
    ['no family', { ...LLAMA, model_type: undefined }, 'model_type', /is missing/],
    ['no hidden size', { ...LLAMA, hidden_size: undefined }, 'hidden_size', /is missing/],
    [
      'dynamic scaling',
      { ...LLAMA, rope_scaling: { rope_type: 'dynamic', factor: 4 } },
      'rope_scaling.rope_type',
      /"dynamic" is not supported \(supported: default, linear, llama3, yarn, longrope, su\)/,
    ],
    [
      'dynamic scaling by the old name',
      { ...LLAMA, rope_scaling: { type: 'dynamic', factor: 4 } },
      'rope_scaling.type',
      /"dynamic"/,
    ],
    [
      'yarn without a factor',
      { ...LLAMA, rope_parameters: { rope_type: 'yarn' } },
      'rope_parameters.factor',
      /is missing, and yarn needs it/,
    ],
    [
      'yarn with an unknown field',
      { ...LLAMA, rope_scaling: { type: 'yarn', factor: 4, extrapolation_factor: 1 } },
      'rope_scaling.extrapolation_factor',
      /is not supported/,
    ],
    [
      'frequencies of an unknown field',
      { ...LLAMA, rope_parameters: { rope_type: 'default', mrope_section: [1, 2] } },
      'rope_parameters.mrope_section',
      /is not supported/,
    ],
    [
      'yarn with an empty ramp',
      { ...LLAMA, rope_scaling: { type: 'yarn', factor: 4, beta_fast: 1 } },
      'rope_scaling.beta_fast',
      /not above/,
    ],
    [
      'longrope of a single position',
      {
        ...PHI3,
        original_max_position_embeddings: 1,
        rope_scaling: { type: 'longrope', short_factor: [1, 1, 1, 1], long_factor: [1, 1, 1, 1] },
      },
      'original_max_position_embeddings',
      /1 is too few positions for longrope/,
    ],
    [
      'longrope with factors of another size',
      { ...PHI3, rope_scaling: { type: 'longrope', short_factor: [1, 1, 1], long_factor: [1, 1, 1] } },
      'rope_scaling.short_factor',
      /has 3 entries, expected 4/,
    ],
    [
      'rotation of half a pair',
      { ...PHI3, partial_rotary_factor: 0.4 },
      'partial_rotary_factor',
      /rotates 3 dimensions/,
    ],
    [
      'frequencies per layer type',
      { ...QWEN2, rope_parameters: { sliding_attention: { rope_theta: 1 } } },
      'rope_parameters.sliding_attention',
      /differ between layers/,
    ],
    ['scaling without a type', { ...LLAMA, rope_scaling: { factor: 2 } }, 'rope_scaling.factor', /rope_type/],
    [
      'linear without a factor',
      { ...LLAMA, rope_scaling: { type: 'linear' } },
      'rope_scaling.factor',
      /is missing, and linear needs it/,
    ],
    [
      'llama3 without its original length',
      { ...LLAMA, rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 } },
      'rope_scaling.original_max_position_embeddings',
      /is missing/,
    ],
    [
      'llama3 factors that would divide by zero',
      {
        ...LLAMA,
        rope_scaling: {
          rope_type: 'llama3',
          factor: 8,
          low_freq_factor: 4,
          high_freq_factor: 4,
          original_max_position_embeddings: 64,
        },
      },
      'rope_scaling.high_freq_factor',
      /not above/,
    ],
    ['partial rotation', { ...LLAMA, partial_rotary_factor: 0.5 }, 'partial_rotary_factor', /supported: 1/],
    [
      'partial rotation in rope_parameters',
      { ...LLAMA, rope_parameters: { partial_rotary_factor: 0.5 } },
      'partial_rotary_factor',
      /supported: 1/,
    ],
    [
      'layers without rotation where none are known',
      { ...LLAMA, no_rope_layers: [1, 0, 1] },
      'no_rope_layers',
      /llama/,
    ],
    ['too few entries of layers', { ...SMOLLM3, no_rope_layers: [1] }, 'no_rope_layers', /1 layers of 3/],
    ['a sliding SmolLM3', { ...SMOLLM3, use_sliding_window: true }, 'use_sliding_window', /smollm3/],
    [
      'soft caps outside Gemma',
      { ...LLAMA, final_logit_softcapping: 30 },
      'final_logit_softcapping',
      /llama/,
    ],
    [
      'soft caps of scores in Gemma 3',
      { ...GEMMA3, attn_logit_softcapping: 50 },
      'attn_logit_softcapping',
      /gemma3_text/,
    ],
    ['a scale outside Gemma', { ...QWEN3, query_pre_attn_scalar: 8 }, 'query_pre_attn_scalar', /qwen3/],
    [
      'attention in both directions',
      { ...GEMMA3, use_bidirectional_attention: true },
      'use_bidirectional_attention',
      /only false/,
    ],
    [
      'one set of frequencies where a family has two',
      { ...GEMMA3, rope_parameters: { rope_theta: 1e6 } },
      'rope_parameters',
      /needs full_attention and sliding_attention/,
    ],
    [
      "another activation than Gemma's",
      { ...GEMMA2, hidden_activation: 'gelu' },
      'hidden_activation',
      /"gelu"/,
    ],
    [
      'weights quantised in a way that is not read',
      { ...LLAMA, quantization_config: { quant_method: 'bitsandbytes' } },
      'quantization_config.quant_method',
      /"bitsandbytes" is not supported \(supported: compressed-tensors, gptq, awq, fp8\)/,
    ],
    [
      'another activation',
      { ...LLAMA, hidden_act: 'gelu' },
      'hidden_act',
      /"gelu" is not supported \(supported: silu\)/,
    ],
    [
      'heads that kv heads do not divide',
      { ...LLAMA, num_key_value_heads: 3 },
      'num_key_value_heads',
      /3 does not divide 4/,
    ],
    ['an odd head size', { ...LLAMA, head_dim: 7 }, 'head_dim', /odd/],
    [
      'a hidden size that heads do not divide',
      { ...LLAMA, hidden_size: 30 },
      'hidden_size',
      /not a multiple of 4/,
    ],
    ['no layers', { ...LLAMA, num_hidden_layers: 0 }, 'num_hidden_layers', />=1/],
    ['too many layers', { ...LLAMA, num_hidden_layers: 1025 }, 'num_hidden_layers', /<=1024/],
    ['an absurd vocabulary', { ...LLAMA, vocab_size: 2 ** 24 + 1 }, 'vocab_size', /<=16777216/],
    ['a negative size', { ...LLAMA, intermediate_size: -64 }, 'intermediate_size', />=1/],
    ['half a layer', { ...LLAMA, num_hidden_layers: 2.5 }, 'num_hidden_layers', /int/],
    ['a size in quotes', { ...LLAMA, hidden_size: '32' }, 'hidden_size', /expected number, received string/],
    ['NaN', { ...LLAMA, rms_norm_eps: Number.NaN }, 'rms_norm_eps', /NaN/],
    [
      'an infinite θ',
      JSON.parse(JSON.stringify({ ...LLAMA, rope_theta: 0 }).replace('"rope_theta":0', '"rope_theta":1e999')),
      'rope_theta',
      /Infinity/,
    ],
    ['a θ whose powers overflow', { ...LLAMA, rope_theta: 5e-324 }, 'rope_theta', />=1/],
    ['an epsilon of 0', { ...LLAMA, rms_norm_eps: 0 }, 'rms_norm_eps', />0/],
    ['an MLP bias outside Llama', { ...MISTRAL, mlp_bias: true }, 'mlp_bias', /mistral/],
    ['an attention bias for Mistral', { ...MISTRAL, attention_bias: true }, 'attention_bias', /mistral/],
    ['a window of 0', { ...MISTRAL, sliding_window: 0 }, 'sliding_window', />=1/],
    ['too few layer types', { ...QWEN2, layer_types: [full] }, 'layer_types', /1 layers of 3/],
    [
      'an unknown layer type',
      { ...QWEN2, layer_types: [full, 'linear_attention', full] },
      'layer_types[1]',
      /"linear_attention"/,
    ],
    [
      'a sliding layer without a window',
      { ...QWEN2, layer_types: [full, full, sliding] },
      'layer_types[2]',
      /no sliding window/,
    ],
    [
      'a sliding layer in Llama',
      { ...LLAMA, sliding_window: 8, layer_types: [sliding, full, full] },
      'layer_types[0]',
      /no sliding window/,
    ],
    [
      'a full layer in a sliding Mistral',
      { ...MISTRAL, layer_types: [sliding, full, sliding] },
      'layer_types[1]',
      /every layer/,
    ],
    [
      'an end token beyond the vocabulary',
      { ...LLAMA, eos_token_id: [2, 640] },
      'eos_token_id',
      /640 is outside the vocabulary of 640/,
    ],
    ['a first token beyond the vocabulary', { ...LLAMA, bos_token_id: 640 }, 'bos_token_id', /640/],
    [
      'an end token that is no id',
      { ...LLAMA, eos_token_id: ['</s>'] },
      'eos_token_id[0]',
      /expected number/,
    ],
  ];

  it.each(refused)('%s', async (_, config, field, message) => {
    const error = await modelError(() => parseConfig(config, 'some/config.json'));
    expect(error).toMatchObject({ type: 'model', file: 'some/config.json', field });
    expect(error.message).toContain(`some/config.json: ${field}`);
    expect(error.message).toMatch(message);
  });
});
