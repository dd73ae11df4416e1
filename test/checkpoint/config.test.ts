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
  const lengths = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
  const llama3 = { rope_type: 'llama3', factor: 8, ...lengths };
  const scaled = { lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositions: 8192 };
  const linear = (factor: number) => ({ type: 'linear', factor });

  it.each([
    ['no scaling', { rope_theta: 5e5, rope_scaling: null }, 5e5, null],
    ['default', { rope_scaling: { rope_type: 'default' } }, 1e4, null],
    ['linear', { rope_scaling: { rope_type: 'linear', factor: 2 } }, 1e4, linear(2)],
    ['the old name of rope_type', { rope_scaling: { type: 'linear', factor: 4 } }, 1e4, linear(4)],
    [
      'both, of which the new one counts',
      { rope_scaling: { type: 'linear', rope_type: 'default' } },
      1e4,
      null,
    ],
    ['llama3', { rope_theta: 5e5, rope_scaling: llama3 }, 5e5, { type: 'llama3', factor: 8, ...scaled }],
    [
      'rope_parameters of transformers 5',
      { rope_parameters: { rope_theta: 5e5, ...llama3 } },
      5e5,
      { type: 'llama3', factor: 8, ...scaled },
    ],
    ['rope_parameters with θ alone', { rope_parameters: { rope_theta: 1e6 } }, 1e6, null],
  ])('%s', (_, keys, theta, scaling) => {
    expect(parse({ ...LLAMA, ...keys }).ropes).toEqual([{ dimensions: 8, theta, scaling }]);
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
  });
});

describe('sliding window', () => {
  const on = { ...QWEN2, use_sliding_window: true, sliding_window: 16 };
  const layer_types = ['sliding_attention', 'full_attention', 'sliding_attention'];

  it.each([
    ['Llama has none', { ...LLAMA, sliding_window: 16 }, [null, null, null]],
    ['Mistral: every layer', { ...MISTRAL, sliding_window: 24 }, [24, 24, 24]],
    ['Mistral: none where it is null', { ...MISTRAL, sliding_window: null }, [null, null, null]],
    [
      'Qwen2: none unless switched on',
      { ...QWEN2, sliding_window: 16, max_window_layers: 0 },
      [null, null, null],
    ],
    ['Qwen2: layers from max_window_layers on', { ...on, max_window_layers: 1 }, [null, 16, 16]],
    ['Qwen2: 28 full layers unless the file says so', on, [null, null, null]],
    ['Qwen2: layer_types wins', { ...on, max_window_layers: 3, layer_types }, [16, null, 16]],
  ])('%s', (_, config, windows) => {
    expect(parse(config).slidingWindow).toEqual(windows);
  });
});

describe('refusals name file and field', () => {
  const [full, sliding] = ['full_attention', 'sliding_attention'];
  const infinite: unknown = JSON.parse(JSON.stringify({ ...LLAMA, rope_theta: 0 }).replace(/0}$/, '1e999}'));
  const yarn = { type: 'yarn', factor: 4 };
  const longrope = (...short_factor: number[]) => ({ type: 'longrope', short_factor, long_factor: [] });
  const llama3 = { rope_type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 4 };
  const refused: [string, unknown, RegExp][] = [
    ['', [], /expected object/],
    [
      'model_type',
      { ...LLAMA, model_type: 'granite' },
      /"granite" is not supported \(supported: llama, qwen2, qwen3, mistral, gemma2, gemma3_text, phi3, /,
    ],
    [
      'model_type',
      { ...QWEN3, model_type: 'qwen3_moe', num_experts: 128 },
      /"qwen3_moe" is a mixture of experts/,
    ],
    ['model_type', { model_type: 'gemma3', text_config: GEMMA3 }, /"gemma3" reads more than text/],
    ['model_type', { ...LLAMA, model_type: undefined }, /is missing/],
    ['hidden_size', { ...LLAMA, hidden_size: undefined }, /is missing/],
    [
      'rope_scaling.rope_type',
      { ...LLAMA, rope_scaling: { rope_type: 'dynamic', factor: 4 } },
      /"dynamic" is not supported \(supported: default, linear, llama3, yarn, longrope, su\)/,
    ],
    ['rope_scaling.type', { ...LLAMA, rope_scaling: { type: 'dynamic', factor: 4 } }, /"dynamic"/],
    [
      'rope_parameters.factor',
      { ...LLAMA, rope_parameters: { rope_type: 'yarn' } },
      /is missing, and yarn needs it/,
    ],
    ['rope_scaling.mscale', { ...LLAMA, rope_scaling: { ...yarn, mscale: 1 } }, /is not supported/],
    [
      'rope_parameters.mrope_section',
      { ...LLAMA, rope_parameters: { mrope_section: [1, 2] } },
      /is not supported/,
    ],
    ['rope_scaling.beta_fast', { ...LLAMA, rope_scaling: { ...yarn, beta_fast: 1 } }, /not above/],
    [
      'original_max_position_embeddings',
      { ...PHI3, original_max_position_embeddings: 1, rope_scaling: longrope(1, 1, 1, 1) },
      /1 is too few positions for longrope/,
    ],
    ['rope_scaling.short_factor', { ...PHI3, rope_scaling: longrope(1, 1, 1) }, /has 3 entries, expected 4/],
    ['partial_rotary_factor', { ...PHI3, partial_rotary_factor: 0.4 }, /rotates 3 dimensions/],
    [
      'rope_parameters.sliding_attention',
      { ...QWEN2, rope_parameters: { sliding_attention: { rope_theta: 1 } } },
      /differ between layers/,
    ],
    ['rope_scaling.factor', { ...LLAMA, rope_scaling: { factor: 2 } }, /rope_type/],
    [
      'rope_scaling.factor',
      { ...LLAMA, rope_scaling: { type: 'linear' } },
      /is missing, and linear needs it/,
    ],
    [
      'rope_scaling.original_max_position_embeddings',
      { ...LLAMA, rope_scaling: { ...llama3, low_freq_factor: 1 } },
      /is missing/,
    ],
    ['rope_scaling.high_freq_factor', { ...LLAMA, rope_scaling: llama3 }, /not above/], // would divide by zero
    ['partial_rotary_factor', { ...LLAMA, partial_rotary_factor: 0.5 }, /supported: 1/],
    ['partial_rotary_factor', { ...LLAMA, rope_parameters: { partial_rotary_factor: 0.5 } }, /supported: 1/],
    ['no_rope_layers', { ...LLAMA, no_rope_layers: [1, 0, 1] }, /llama/],
    ['no_rope_layers', { ...SMOLLM3, no_rope_layers: [1] }, /1 layers of 3/],
    ['use_sliding_window', { ...SMOLLM3, use_sliding_window: true }, /smollm3/],
    ['final_logit_softcapping', { ...LLAMA, final_logit_softcapping: 30 }, /llama/],
    ['attn_logit_softcapping', { ...GEMMA3, attn_logit_softcapping: 50 }, /gemma3_text/],
    ['query_pre_attn_scalar', { ...QWEN3, query_pre_attn_scalar: 8 }, /qwen3/],
    ['use_bidirectional_attention', { ...GEMMA3, use_bidirectional_attention: true }, /only false/],
    [
      'rope_parameters',
      { ...GEMMA3, rope_parameters: { rope_theta: 1e6 } },
      /needs full_attention and sliding_attention/,
    ],
    ['hidden_activation', { ...GEMMA2, hidden_activation: 'gelu' }, /"gelu"/],
    [
      'quantization_config.quant_method',
      { ...LLAMA, quantization_config: { quant_method: 'bitsandbytes' } },
      /"bitsandbytes" is not supported \(supported: compressed-tensors, gptq, awq, fp8\)/,
    ],
    ['hidden_act', { ...LLAMA, hidden_act: 'gelu' }, /"gelu" is not supported \(supported: silu\)/],
    ['num_key_value_heads', { ...LLAMA, num_key_value_heads: 3 }, /3 does not divide 4/],
    ['head_dim', { ...LLAMA, head_dim: 7 }, /odd/],
    ['hidden_size', { ...LLAMA, hidden_size: 30 }, /not a multiple of 4/],
    ['num_hidden_layers', { ...LLAMA, num_hidden_layers: 0 }, />=1/],
    ['num_hidden_layers', { ...LLAMA, num_hidden_layers: 1025 }, /<=1024/],
    ['vocab_size', { ...LLAMA, vocab_size: 2 ** 24 + 1 }, /<=16777216/],
    ['intermediate_size', { ...LLAMA, intermediate_size: -64 }, />=1/],
    ['num_hidden_layers', { ...LLAMA, num_hidden_layers: 2.5 }, /int/],
    ['hidden_size', { ...LLAMA, hidden_size: '32' }, /expected number, received string/],
    ['rms_norm_eps', { ...LLAMA, rms_norm_eps: Number.NaN }, /NaN/],
    ['rope_theta', infinite, /Infinity/],
    ['rope_theta', { ...LLAMA, rope_theta: 5e-324 }, />=1/], // its powers would overflow
    ['rms_norm_eps', { ...LLAMA, rms_norm_eps: 0 }, />0/],
    ['mlp_bias', { ...MISTRAL, mlp_bias: true }, /mistral/],
    ['attention_bias', { ...MISTRAL, attention_bias: true }, /mistral/],
    ['sliding_window', { ...MISTRAL, sliding_window: 0 }, />=1/],
    ['layer_types', { ...QWEN2, layer_types: [full] }, /1 layers of 3/],
    ['layer_types[1]', { ...QWEN2, layer_types: [full, 'linear_attention', full] }, /"linear_attention"/],
    ['layer_types[2]', { ...QWEN2, layer_types: [full, full, sliding] }, /no sliding window/],
    [
      'layer_types[0]',
      { ...LLAMA, sliding_window: 8, layer_types: [sliding, full, full] },
      /no sliding window/,
    ],
    ['layer_types[1]', { ...MISTRAL, layer_types: [sliding, full, sliding] }, /every layer/],
    ['eos_token_id', { ...LLAMA, eos_token_id: [2, 640] }, /640 is outside the vocabulary of 640/],
    ['bos_token_id', { ...LLAMA, bos_token_id: 640 }, /640/],
    ['eos_token_id[0]', { ...LLAMA, eos_token_id: ['</s>'] }, /expected number/],
  ];

  it.each(refused)('%s, case %#', async (field, config, message) => {
    const error = await modelError(() => parseConfig(config, 'some/config.json'));
    expect(error).toMatchObject({ type: 'model', file: 'some/config.json', field });
    expect(error.message).toContain(`some/config.json: ${field}`);
    expect(error.message).toMatch(message);
  });
});
