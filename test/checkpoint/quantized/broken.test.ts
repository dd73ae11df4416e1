import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, modelError, safetensors } from '../../support/graphs.js';
import { peakMemory } from '../../support/peak-memory.js';
import {
  encodeParts,
  parseSettings,
  QUANTIZED,
  quantizedParts,
  STEM,
  type TensorParts,
  unpackMatrix,
} from '../../support/quantized.js';

const unpack = async (parts: TensorParts, config: unknown, shape?: readonly [number, number]) =>
  unpackMatrix(await folder({ 'model.safetensors': encodeParts(parts) }), config, shape);

async function refusal(name: string, change: Change, config: object = {}) {
  const parts = await quantizedParts(name);
  change(parts);
  const error = await modelError(() => unpack(parts, { ...QUANTIZED[name]!.config, ...config }));
  return `${error.field}: ${error.problem}`;
}

type Change = (parts: TensorParts) => void;
const put = (suffix: string, at: number, bytes: readonly number[]): Change => {
  return (parts) => parts[`${STEM}.${suffix}`]!.data.set(bytes, at);
};
const without = (suffix: string): Change => {
  return (parts) => void delete parts[`${STEM}.${suffix}`];
};
const added = (suffix: string, like: string, change: Partial<TensorParts[string]> = {}): Change => {
  return (parts) =>
    void Object.assign(parts, { [`${STEM}.${suffix}`]: { ...parts[`${STEM}.${like}`]!, ...change } });
};
const HALF_NAN = [0x00, 0x7e];
const FLOAT_INFINITY = [0, 0, 0x80, 0x7f];
const nothing = () => {};

describe('quantised tensors that cannot be used are refused by name', () => {
  it.each([
    ['gptq-int4', without('qweight'), {}, /^qweight: is missing \(expected I32 \[8,32\]\)/],
    ['gptq-int4', without('scales'), {}, /^scales: is missing \(expected F32, F16, BF16 \[4,32\]\)/],
    ['gptq-int4', without('qzeros'), {}, /^qzeros: is missing \(expected I32 \[4,4\]\)/],
    ['gptq-int4-reordered', without('g_idx'), {}, /^g_idx: is missing \(expected I32 \[64\]\)/],
    ['pack-int4-zeros', without('weight_zero_point'), {}, /^weight_zero_point: is missing/],
    ['pack-int4-zeros', without('weight_g_idx'), {}, /^weight_g_idx: is missing/],
    ['pack-int4-zeros', without('weight_shape'), {}, /^weight_shape: is missing/],
    ['fp8-block', without('weight_scale_inv'), {}, /^weight_scale_inv: is missing/],
    ['gptq-int4', nothing, { bits: 8 }, /^qweight: has shape \[8,32\], config.json implies \[16,32\]/],
    ['gptq-int4', nothing, { group_size: 32 }, /^scales: has shape \[4,32\], config.json implies \[2,32\]/],
    ['gptq-int4', nothing, { group_size: 24 }, /^qweight: has 64 columns, which groups of 24 /],
    ['gptq-int4', added('qweight', 'qweight', { shape: [32, 8] }), {}, /^qweight: has shape \[32,8\]/],
    ['fp8-block', nothing, { weight_block_size: [16, 16] }, /^weight_scale_inv: has shape \[2,2\]/],
    ['gptq-int4', put('scales', 8, HALF_NAN), {}, /^scales: contains NaN or infinity/],
    ['fp8-block', put('weight_scale_inv', 4, FLOAT_INFINITY), {}, /^weight_scale_inv: contains NaN/],
    ['fp8-tensor', put('weight', 7, [0xff]), {}, /^weight: contains NaN or infinity/],
    ['gptq-int4-reordered', put('g_idx', 4, [2, 0, 0, 0]), {}, /^g_idx: contains 2, but there are 2 groups/],
    ['gptq-int4-reordered', put('g_idx', 4, [255, 255, 255, 255]), {}, /^g_idx: contains -1/],
    ['gptq-int4-reordered', nothing, { desc_act: false }, /^g_idx: reorders columns, which/],
    [
      'gptq-int4-reordered',
      put('qzeros', 0, [0x5f]),
      {},
      /^qzeros: contains 15, which servers read as 16 or 0/,
    ],
    ['gptq-int4', put('qzeros', 0, [0x79]), {}, /^qzeros: contains 9, which does not fit "sym": true/],
    [
      'pack-int4-zeros',
      put('weight_shape', 0, [33]),
      {},
      /^weight_shape: says \[33,64\], config.json implies/,
    ],
    ['gptq-int4', added('weight', 'qweight'), {}, /^weight: is not supported in a checkpoint of gptq/],
    ['float8-channel', added('weight_global_scale', 'weight_scale'), {}, /^weight_global_scale: is not supp/],
  ])('%s, change %#', async (name, change, config, message) => {
    expect((await refusal(name, change, config)).replace(`${STEM}.`, '')).toMatch(message);
  });

  it('GPTQ zero-points of the other version are taken where they are all alike', async () => {
    const parts = await quantizedParts('gptq-int4');
    parts[`${STEM}.qzeros`]!.data.fill(0x88);
    await expect(unpack(parts, QUANTIZED['gptq-int4']!.config)).resolves.toMatchObject({
      count: 32 * 64,
    });
  });

  it.each([
    ['weight', [2 ** 15 + 32, 2 ** 15], null, 2 ** 30],
    ['weight_scale_inv', [2 ** 13, 2 ** 13], [1, 1], 2 ** 27],
  ] as const)('%s of a matrix of %j that would fill the memory', async (suffix, shape, block, most) => {
    const config = { quant_method: 'fp8', ...(block && { weight_block_size: block }) };
    const values = shape[0] * shape[1];
    const tensors = {
      [`${STEM}.weight`]: { dtype: 'F8_E4M3', shape, data_offsets: [0, values] },
      [`${STEM}.weight_scale_inv`]: {
        dtype: 'F32',
        shape: block ? shape : [1],
        data_offsets: [values, values + 4 * (block ? values : 1)],
      },
    };
    const dir = await folder({ 'model.safetensors': safetensors(tensors, 0) });
    const file = join(dir, 'model.safetensors');
    truncateSync(file, statSync(file).size + tensors[`${STEM}.weight_scale_inv`]!.data_offsets[1]!);
    const bytes = suffix === 'weight' ? values : 4 * values;
    const peak = await peakMemory(async () => {
      const { field, problem } = await modelError(() => unpackMatrix(dir, config, shape));
      expect([field, problem]).toEqual([`${STEM}.${suffix}`, `has ${bytes} bytes (at most ${most})`]);
    });
    expect(peak).toBeLessThan(100);
  });

  it('a matrix in groups that no block divides', async () => {
    const parts = {
      [`${STEM}.weight`]: { dtype: 'F8_E4M3', shape: [2, 24], data: new Uint8Array(48) },
      [`${STEM}.weight_scale`]: { dtype: 'F32', shape: [1], data: new Uint8Array(4) },
    };
    const error = await modelError(() => unpack(parts, { quant_method: 'fp8' }, [2, 24]));
    expect(error.message).toMatch(/\.weight: has 24 columns in groups of 24, which are no multiples of 16/);
  });

  it('a configuration that says quantised weights, of which there are none', async () => {
    const weight = { dtype: 'F16', shape: [32, 64], data: new Uint8Array(2 * 32 * 64) };
    const error = await modelError(() =>
      unpack({ [`${STEM}.weight`]: weight }, QUANTIZED['gptq-int4']!.config),
    );
    expect(error.message).toMatch(
      /quantization_config: says gptq \(gptq\), 4 bits, but no weight is quantised/,
    );
  });
});

describe('a quantization_config that is not supported is refused by the field', () => {
  const { config: gptq } = QUANTIZED['gptq-int4']!;
  const { config: awq } = QUANTIZED['awq-int4']!;
  const { config: packed } = QUANTIZED['pack-int4-group']!;
  const group = { weights: { num_bits: 4, strategy: 'group', group_size: 16 } };
  const withGroup = (weights: object, format = 'pack-quantized') => ({
    ...packed,
    format,
    config_groups: { group_0: { weights: { ...group.weights, ...weights } } },
  });
  const at = 'config_groups.group_0.weights';
  it.each([
    ['gguf', 'quantization_config', /expected object/],
    [{}, 'quant_method', /is missing/],
    [{ quant_method: 'hqq' }, 'quant_method', /"hqq" is not supported \(supported: compressed-tensors, gptq/],
    [{ ...gptq, bits: 3 }, 'bits', /3 is not supported \(supported: 4, 8\)/],
    [{ ...gptq, group_size: 0 }, 'group_size', /expected -1 or a size/],
    [{ ...gptq, checkpoint_format: 'marlin' }, 'checkpoint_format', /"marlin" is not supported/],
    [{ ...gptq, is_marlin_format: true }, 'is_marlin_format', /Marlin is not supported/],
    [{ ...gptq, dynamic: { '+:.*q_proj': { bits: 8 } } }, 'dynamic', /settings of their own/],
    [{ ...awq, bits: 8 }, 'bits', /8 is not supported \(supported: 4\)/],
    [{ ...awq, version: 'gemv' }, 'version', /"gemv" is not supported \(supported: gemm\)/],
    [{ ...awq, zero_point: false }, 'zero_point', /only true/],
    [{ quant_method: 'fp8', fmt: 'e5m2' }, 'fmt', /"e5m2" is not supported/],
    [{ quant_method: 'fp8', weight_block_size: [128] }, 'weight_block_size', /./],
    [{ ...packed, format: 'nvfp4-pack-quantized' }, 'format', /is not supported \(supported: pack-quantized/],
    [
      { ...packed, sparsity_config: { format: 'sparse-24-bitmask' } },
      'sparsity_config.format',
      /not supported/,
    ],
    [
      { ...packed, transform_config: { config_groups: { R1: {} } } },
      'transform_config.config_groups.R1',
      /not supported/,
    ],
    [{ ...packed, config_groups: {} }, 'config_groups', /is empty/],
    [
      { ...packed, config_groups: { a: group, b: { weights: { ...group.weights, num_bits: 8 } } } },
      'config_groups.b.weights',
      /differs from a/,
    ],
    [withGroup({ num_bits: 2 }), `${at}.num_bits`, /2 is not supported/],
    [withGroup({ strategy: 'block' }), `${at}.strategy`, /"block" is not supported for pack-quantized/],
    [withGroup({ group_size: null }), `${at}.group_size`, /is missing/],
    [
      withGroup({ type: 'float', num_bits: 8, actorder: 'group' }, 'float-quantized'),
      `${at}.actorder`,
      /"group" is not supported for floats/,
    ],
    [withGroup({ type: 'float' }), `${at}.type`, /"float" is not supported for pack-quantized/],
    [withGroup({ type: 'float' }, 'naive-quantized'), `${at}.num_bits`, /4 is not supported for naive/],
  ])('case %#', async (json, field, message) => {
    const error = await modelError(() => parseSettings(json));
    const expected = field === 'quantization_config' ? field : `quantization_config.${field}`;
    expect(error.field).toBe(expected);
    expect(error.problem).toMatch(message);
  });
});
