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
      bosTokenId: 637,
      eosTokenIds: [639],
    });
  });

  it('fills absent keys with the defaults of transformers', () => {
    expect(parse(LLAMA)).toEqual({
      family: 'llama',
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
      rope: { theta: 10_000, scaling: null },
      slidingWindow: [null, null, null],
      storedType: null,
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

  it.each([
    ['torch_dtype', 'bfloat16', 'bf16'],
    ['dtype', 'float16', 'fp16'],
    ['torch_dtype', 'float32', 'fp32'],
    ['torch_dtype', 'float64', null],
  ])('reads %s %s', (key, value, type) => {
    expect(parse({ ...LLAMA, [key]: value }).storedType).toBe(type);
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
    expect(parse({ ...LLAMA, ...keys }).rope).toEqual(rope);
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
      { ...LLAMA, model_type: 'gemma2' },
      'model_type',
      /"gemma2" is not supported \(supported: llama, qwen2, mistral\)/,
    ],
    ['no family', { ...LLAMA, model_type: undefined }, 'model_type', /is missing/],
    ['no hidden size', { ...LLAMA, hidden_size: undefined }, 'hidden_size', /is missing/],
    [
      'yarn',
      { ...LLAMA, rope_scaling: { rope_type: 'yarn', factor: 4 } },
      'rope_scaling.rope_type',
      /"yarn" is not supported \(supported: default, linear, llama3\)/,
    ],
    [
      'yarn by the old name',
      { ...LLAMA, rope_scaling: { type: 'yarn', factor: 4 } },
      'rope_scaling.type',
      /"yarn"/,
    ],
    [
      'yarn in rope_parameters',
      { ...LLAMA, rope_parameters: { rope_type: 'yarn' } },
      'rope_parameters.rope_type',
      /"yarn"/,
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
    ['partial rotation', { ...LLAMA, partial_rotary_factor: 0.5 }, 'partial_rotary_factor', /expected 1/],
    [
      'partial rotation in rope_parameters',
      { ...LLAMA, rope_parameters: { partial_rotary_factor: 0.5 } },
      'rope_parameters.partial_rotary_factor',
      /expected 1/,
    ],
    ['quantised weights', { ...LLAMA, quantization_config: { bits: 4 } }, 'quantization_config', /quantised/],
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
