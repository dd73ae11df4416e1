import { join } from 'node:path';
import { ModelError, show } from '../../files/file-errors.js';
import type { FileTensor, TensorIndex } from '../safetensors.js';
import { type Layout, layoutOf, type StoredPart } from './layouts.js';
import { type Size, storedSize } from './matrix-rows.js';
import type { Quantization } from './quantization-settings.js';

/** A matrix that is stored quantised. */
export interface QuantizedWeight {
  readonly name: string;
  readonly shape: Size;
  readonly quantization: Quantization;
  readonly layout: Layout;
  /** How many rows and columns of scales there are. */
  readonly scaleSize: Size;
  readonly values: FileTensor;
  readonly scales: FileTensor;
  readonly zeros: FileTensor | null;
  readonly groups: FileTensor | null;
  readonly size: FileTensor | null;
}

export const partsOf = ({ values, scales, zeros, groups, size }: QuantizedWeight): readonly FileTensor[] =>
  [values, scales, zeros, groups, size].filter((part) => part !== null);

/** Bytes of the values of a matrix, which are unpacked together: those of Llama 3.1 405B in 8 bits have 872 MB. */
const MAX_VALUES = 2 ** 30;
/** Bytes of any other part: its scales become as many numbers of 4 bytes. */
const MAX_PART = 2 ** 27;

/** Tensors that would change a weight; those for activations (`input_scale`) would not. */
const OF_WEIGHTS = /^(q?weight|qzeros|scales|g_idx)/;

/**
 * Finds the matrices that are stored quantised; those with a `weight` in fp32, bf16 or fp16 are not.
 *
 * @param matrices shapes by name
 * @param dir named where a tensor is in none of its files
 * @throws ModelError naming the tensor that is missing, not known, too large, or of another type or shape
 */
export function findQuantized(
  quantization: Quantization,
  matrices: ReadonlyMap<string, Size>,
  index: TensorIndex,
  dir: string,
): readonly QuantizedWeight[] {
  const isPlain = (name: string): boolean => (index.get(name)?.type ?? null) !== null;
  const found = [...matrices]
    .filter(([name]) => !isPlain(name))
    .map(([name, shape]) => quantizedWeight(name, shape, { quantization, index, dir }));
  if (found.length === 0) {
    const problem = `says ${describe(quantization)}, but no weight is quantised`;
    throw new ModelError(join(dir, 'config.json'), 'quantization_config', problem);
  }
  const known = new Set(found.flatMap(partsOf).map(({ name }) => name));
  const unknown = [...index.keys()].find((name) => {
    const [, stem = '', suffix = ''] = /^(.*)\.([^.]*)$/.exec(name) ?? [];
    if (!OF_WEIGHTS.test(suffix) || !matrices.has(`${stem}.weight`)) return false;
    return !known.has(name) && !(matrices.has(name) && isPlain(name));
  });
  if (unknown === undefined) return found;
  throw new ModelError(dir, unknown, `is not supported in a checkpoint of ${describe(quantization)}`);
}

/** `gptq (gptq_v2), 4 bits`, for people. */
export const describe = ({ method, format, bits }: Quantization): string =>
  `${method} (${format}), ${bits} bits`;

interface Sources {
  readonly quantization: Quantization;
  readonly index: TensorIndex;
  readonly dir: string;
}

function quantizedWeight(name: string, shape: Size, { quantization, index, dir }: Sources): QuantizedWeight {
  const stem = name.replace(/\.weight$/, '');
  const { bits, block, reordered } = quantization;
  const layout = layoutOf(quantization, (suffix) => index.has(`${stem}.${suffix}`));
  const take = (suffix: string, dtypes: readonly string[], shapes: readonly (readonly number[])[]) => {
    const part = index.get(`${stem}.${suffix}`);
    const expected = `${dtypes.join(', ')} ${show(shapes[0])}`;
    if (!part) throw new ModelError(dir, `${stem}.${suffix}`, `is missing (expected ${expected})`);
    if (!dtypes.includes(part.dtype)) {
      const problem = `is stored as ${part.dtype} (supported: ${dtypes.join(', ')})`;
      throw new ModelError(part.file, part.name, problem);
    }
    if (!shapes.some((each) => show(each) === show(part.shape))) {
      const problem = `has shape ${show(part.shape)}, config.json implies ${show(shapes[0])}`;
      throw new ModelError(part.file, part.name, problem);
    }
    const most = suffix === layout.values.suffix ? MAX_VALUES : MAX_PART;
    if (part.byteLength > most)
      throw new ModelError(part.file, part.name, `has ${part.byteLength} bytes (at most ${most})`);
    return part;
  };
  const takePart = (part: StoredPart, size: Size) => {
    const scalar = block[0] === null && block[1] === null && part !== layout.values;
    const stored = storedSize(part, size, bits);
    return take(part.suffix, part.dtypes, scalar ? [[1], [], [1, 1]] : [stored]);
  };

  const values = takePart(layout.values, shape);
  if (block[0] === 1 && block[1] !== null && shape[1] % block[1] !== 0) {
    const problem = `has ${shape[1]} columns, which groups of ${block[1]} (quantization_config) do not divide`;
    throw new ModelError(values.file, values.name, problem);
  }
  const scaleSize: Size = [
    Math.ceil(shape[0] / (block[0] ?? shape[0])),
    Math.ceil(shape[1] / (block[1] ?? shape[1])),
  ];
  const grouped =
    layout.groups !== null && (reordered || index.has(`${stem}.${layout.groups}`)) ? layout.groups : null;
  return {
    name,
    shape,
    quantization,
    layout,
    scaleSize,
    values,
    scales: takePart(layout.scales, scaleSize),
    zeros: layout.zeros && takePart(layout.zeros, scaleSize),
    groups: grouped === null ? null : take(grouped, ['I32'], [[shape[1]]]),
    size: layout.size === null ? null : take(layout.size, ['I64'], [[2]]),
  };
}
