import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { parseConfig } from '#src/checkpoint/config.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import {
  CHUNK,
  configOf,
  type DrawnTensor,
  plainTensor,
  type Shape,
  sizeOf,
  writeTensors,
  writeTexts,
} from './random-checkpoint.js';
import { randomBytes } from './random-gguf.js';

/** Formats of quantised safetensors, as docs/how-to/own-model.md names them. */
export const QUANTIZED_FORMATS = ['GPTQ', 'AWQ', 'compressed-tensors', 'FP8'] as const;
export type QuantizedFormat = (typeof QUANTIZED_FORMATS)[number];

/** Side of the blocks of FP8 that share a scale. */
const BLOCK = 128;
/** Deviation of the whole numbers from 0 to 15. */
const DEVIATION_OF_4_BITS = Math.sqrt(255 / 12);
/** Deviation of ±1 to ±1.875, in eighths. */
const DEVIATION_OF_FP8 = 1.47;

/**
 * Writes a Llama checkpoint whose projections are quantised: random bytes around scales that give their values the
 * deviation 1/√inputs. The embedding, which is the head, is bf16.
 */
export async function writeRandomQuantized(
  folder: string,
  shape: Shape,
  { format, seed }: { readonly format: QuantizedFormat; readonly seed: number },
): Promise<void> {
  const group = groupOf(shape);
  const config = { ...configOf(shape, 'bf16'), quantization_config: settingsOf(format, group) };
  await writeTexts(folder, shape, config);
  const random = xoroshiro128plus(seed);
  const tensors = [...expectedTensors(parseConfig(configOf(shape, 'bf16'), folder))].flatMap(
    ([name, dims]): DrawnTensor[] => {
      const [rows, columns] = dims;
      if (!/_proj\.weight$/.test(name) || rows === undefined || columns === undefined)
        return [plainTensor(random, name, dims, 'bf16')];
      return partsOf(format, random, name.replace(/\.weight$/, ''), { rows, columns, group });
    },
  );
  await writeTensors(folder, tensors);
}

/** The largest usual group that divides the inputs of all projections. */
function groupOf({ hidden_size, intermediate_size }: Shape): number {
  const group = [128, 64, 32, 16].find((size) => hidden_size % size === 0 && intermediate_size % size === 0);
  if (group === undefined) throw new RangeError('hidden_size, intermediate_size: must be multiples of 16');
  return group;
}

const settingsOf = (format: QuantizedFormat, group: number): object =>
  ({
    GPTQ: { quant_method: 'gptq', bits: 4, group_size: group, sym: true, desc_act: false },
    AWQ: { quant_method: 'awq', bits: 4, group_size: group, zero_point: true, version: 'gemm' },
    'compressed-tensors': {
      quant_method: 'compressed-tensors',
      format: 'pack-quantized',
      config_groups: {
        group_0: {
          targets: ['Linear'],
          weights: { num_bits: 4, type: 'int', symmetric: true, strategy: 'group', group_size: group },
        },
      },
    },
    FP8: { quant_method: 'fp8', weight_block_size: [BLOCK, BLOCK] },
  })[format];

interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly group: number;
}

/** Layouts: src/checkpoint/quantized/layouts.ts. */
function partsOf(
  format: QuantizedFormat,
  random: RandomGenerator,
  module: string,
  { rows, columns, group }: Matrix,
): DrawnTensor[] {
  const groups = columns / group;
  const deviation = 1 / Math.sqrt(columns);
  const words = (suffix: string, shape: readonly number[]): DrawnTensor =>
    tensor(`${module}.${suffix}`, 'I32', shape, (bytes) => randomBytes(random, bytes));
  const zeros = (word: number): DrawnTensor =>
    tensor(`${module}.qzeros`, 'I32', [groups, rows / 8], filledWith(Uint32Array.of(word)));
  const scale = Float32Array.of(deviation / DEVIATION_OF_4_BITS);
  const scales = (suffix: string, shape: readonly number[]): DrawnTensor =>
    tensor(`${module}.${suffix}`, 'F32', shape, filledWith(scale));
  switch (format) {
    case 'GPTQ': {
      const index = Int32Array.from({ length: columns }, (_, column) => Math.floor(column / group));
      return [
        words('qweight', [columns / 8, rows]),
        zeros(0x77777777), // 8, of which v1 stores one less
        scales('scales', [groups, rows]),
        tensor(`${module}.g_idx`, 'I32', [columns], () => new Uint8Array(index.buffer)),
      ];
    }
    case 'AWQ':
      return [words('qweight', [columns, rows / 8]), zeros(0x88888888), scales('scales', [groups, rows])];
    case 'compressed-tensors': {
      const size = BigInt64Array.of(BigInt(rows), BigInt(columns));
      return [
        words('weight_packed', [rows, columns / 8]),
        scales('weight_scale', [rows, groups]),
        tensor(`${module}.weight_shape`, 'I64', [2], () => new Uint8Array(size.buffer)),
      ];
    }
    case 'FP8': {
      // Sign and mantissa are random, the exponent is that of 1: no NaN, and no large values.
      const values = (bytes: number): Uint8Array =>
        randomBytes(random, bytes).map((byte) => (byte & 0x87) | 0x38);
      const blocks = [Math.ceil(rows / BLOCK), Math.ceil(columns / BLOCK)];
      const inverse = filledWith(Float32Array.of(deviation / DEVIATION_OF_FP8));
      return [
        tensor(`${module}.weight`, 'F8_E4M3', [rows, columns], values),
        tensor(`${module}.weight_scale_inv`, 'F32', blocks, inverse),
      ];
    }
  }
}

const BYTES: Readonly<Record<string, number>> = { I32: 4, F32: 4, I64: 8, F8_E4M3: 1 };

/** @param fill the next so many bytes */
function tensor(
  name: string,
  dtype: string,
  shape: readonly number[],
  fill: (bytes: number) => Uint8Array,
): DrawnTensor {
  const byteLength = BYTES[dtype]! * sizeOf(shape);
  return {
    name,
    dtype,
    shape,
    byteLength,
    *parts() {
      for (let done = 0; done < byteLength; done += CHUNK) yield fill(Math.min(CHUNK, byteLength - done));
    },
  };
}

const filledWith =
  ({ buffer }: Uint32Array | Float32Array) =>
  (bytes: number): Uint8Array =>
    Buffer.alloc(bytes, new Uint8Array(buffer));
