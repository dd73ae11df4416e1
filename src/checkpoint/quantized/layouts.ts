import type { Quantization } from './quantization-settings.js';

/** One of the tensors that a quantised matrix is stored in. */
export interface StoredPart {
  /** After the name of the module. */
  readonly suffix: string;
  /** Accepted types, by their names in safetensors. */
  readonly dtypes: readonly string[];
  /** Neighbours that share a word of 32 bits; `null`: each element is stored by itself. */
  readonly packed: 'rows' | 'columns' | null;
  /** Whether it is stored as columns × rows. */
  readonly transposed: boolean;
}

/** The tensors of a quantised matrix. Of scales and zero-points, a row and a column are a block's. */
export interface Layout {
  readonly values: StoredPart;
  readonly scales: StoredPart;
  /** `null`: what is subtracted is `zero`. */
  readonly zeros: StoredPart | null;
  readonly zero: number;
  /** Added to a stored zero-point. */
  readonly zeroOffset: number;
  /** The group of each column; read if the quantisation is reordered. */
  readonly groups: string | null;
  /** Rows and columns of the matrix. */
  readonly size: string | null;
  /** Position of each neighbour in a word. */
  readonly places: readonly number[];
}

const FLOATS = ['F32', 'F16', 'BF16'];
const WORDS = ['I32'];
const IN_ORDER = [0, 1, 2, 3, 4, 5, 6, 7];
/** AWQ's kernels unpack even and odd neighbours apart. AutoAWQ, awq/utils/packing_utils.py. */
const AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7];

const part = (
  suffix: string,
  dtypes: readonly string[],
  { packed = null, transposed = false }: Partial<Pick<StoredPart, 'packed' | 'transposed'>> = {},
): StoredPart => ({ suffix, dtypes, packed, transposed });

const PLAIN = { zero: 0, zeroOffset: 0, groups: null, size: null, places: IN_ORDER };

/** @param has whether the checkpoint has a tensor of the matrix, by its suffix */
export function layoutOf(quantization: Quantization, has: (suffix: string) => boolean): Layout {
  const { method, format, type, bits, symmetric, block } = quantization;
  const middle = 2 ** (bits - 1);
  switch (method) {
    // compressed_tensors/compressors/pack_quantized, naive_quantized
    case 'compressed-tensors': {
      if (format === 'pack-quantized') {
        const zeros = symmetric ? null : part('weight_zero_point', WORDS, { packed: 'rows' });
        return {
          ...PLAIN,
          zeros,
          zero: middle,
          groups: 'weight_g_idx',
          size: 'weight_shape',
          values: part('weight_packed', WORDS, { packed: 'columns' }),
          scales: part('weight_scale', FLOATS),
        };
      }
      return {
        ...PLAIN,
        groups: 'weight_g_idx',
        values: part('weight', [type === 'float' ? 'F8_E4M3' : 'I8']),
        scales: part('weight_scale', FLOATS),
        zeros: symmetric ? null : part('weight_zero_point', ['I8']),
      };
    }
    // AutoGPTQ 0.7.1, auto_gptq/nn_modules/qlinear; GPTQModel: v2 stores zero-points as they are
    case 'gptq':
      return {
        ...PLAIN,
        zeroOffset: format === 'gptq' ? 1 : 0,
        zero: middle,
        groups: 'g_idx',
        values: part('qweight', WORDS, { packed: 'columns', transposed: true }),
        scales: part('scales', FLOATS, { transposed: true }),
        zeros: part('qzeros', WORDS, { packed: 'rows', transposed: true }),
      };
    case 'awq':
      return {
        ...PLAIN,
        places: AWQ_PLACES,
        values: part('qweight', WORDS, { packed: 'rows', transposed: true }),
        scales: part('scales', FLOATS, { transposed: true }),
        zeros: part('qzeros', WORDS, { packed: 'rows', transposed: true }),
      };
    // DeepSeek-V3, inference/fp8_cast_bf16.py; AutoFP8 has `weight_scale`
    case 'fp8': {
      const inverse = block[0] !== null || has('weight_scale_inv');
      return {
        ...PLAIN,
        zeros: null,
        values: part('weight', ['F8_E4M3']),
        scales: part(inverse ? 'weight_scale_inv' : 'weight_scale', FLOATS),
      };
    }
  }
}
