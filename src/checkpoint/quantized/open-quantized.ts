import { realpath } from 'node:fs/promises';
import { cacheFolder } from '../../files/cache-folder.js';
import type { ModelConfig } from '../config.js';
import { type Conversion, convert, planConversion } from '../conversion.js';
import { digestWeights } from '../fingerprint.js';
import type { FileTensor, TensorIndex } from '../safetensors.js';
import { storedTensors, type Weight, weightsIn } from '../weights.js';
import { describe, findQuantized, partsOf } from './find.js';
import type { Size } from './matrix-rows.js';
import type { Quantization } from './quantization-settings.js';
import { convertedQuantized } from './quantized-unpack.js';

/** Format of the converted weights: a file of another format is made again. */
const FORMAT = 'flinch quantized 3';

export interface QuantizationFacts {
  /** Method, format and bits. */
  readonly format: string;
  readonly folder: string;
  /** How many matrices are quantised, of how many. */
  readonly matrices: readonly [quantized: number, all: number];
  /** Average of all weights, as stored. */
  readonly bitsPerWeight: number;
}

export interface UnpackOptions {
  /** Whether to convert weights that are not in the cache yet. Otherwise their tensors are where they would be. */
  readonly unpack: boolean;
  readonly onProgress?: ((progress: Conversion) => void) | undefined;
}

/**
 * Keeps the quantised weights of a checkpoint in the user's cache folder in a form that graphs read, unless they are
 * there.
 *
 * @returns the checkpoint's tensors, with the converted ones in place of those that they are made of
 * @throws ModelError naming file and tensor
 */
export async function openQuantized(
  {
    config,
    quantization,
    dir,
  }: { readonly config: ModelConfig; readonly quantization: Quantization; readonly dir: string },
  index: TensorIndex,
  { unpack, onProgress }: UnpackOptions,
): Promise<{
  readonly tensors: ReadonlyMap<string, FileTensor | Weight>;
  readonly facts: QuantizationFacts;
}> {
  const matrices = new Map<string, Size>();
  for (const [name, [rows, columns]] of storedTensors(config))
    if (rows !== undefined && columns !== undefined) matrices.set(name, [rows, columns]);
  const found = findQuantized(quantization, matrices, index, dir);
  const sources = found.flatMap(partsOf);
  const digest = await digestWeights(
    sources.map(({ file }) => file),
    [JSON.stringify(quantization)],
  );
  const folder = cacheFolder('quantized', digest);
  const plan = { format: FORMAT, folder, weights: found.map(convertedQuantized) };
  if (unpack) await convert({ ...plan, file: dir, onProgress });

  const converted = planConversion({ ...plan, folder: unpack ? await realpath(folder) : folder }).tensors;
  const tensors = new Map<string, FileTensor | Weight>(index);
  for (const { name } of sources) tensors.delete(name);
  const stored = [...sources, ...weightsIn(tensors).values()];
  for (const [name, weight] of converted) tensors.set(name, weight);
  const storedBytes = stored.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const shapes = [...weightsIn(tensors).values()].map(({ shape }) => shape);
  const elements = shapes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return {
    tensors,
    facts: {
      format: describe(quantization),
      folder,
      matrices: [found.length, matrices.size],
      bitsPerWeight: (8 * storedBytes) / elements,
    },
  };
}
