import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Checkpoint, readCheckpoint } from '../src/checkpoint/checkpoint.js';
import { type ModelConfig, parseConfig, type StoredType } from '../src/checkpoint/config.js';
import { fingerprint } from '../src/checkpoint/fingerprint.js';
import { type GgufFacts, isGguf, layOutGguf, readGguf } from '../src/checkpoint/gguf/open.js';
import type { QuantizationFacts } from '../src/checkpoint/quantized/open.js';
import { EMBEDDING, expectedTensors, filesOf, inFloat8, type Weight } from '../src/checkpoint/weights.js';
import { readJson } from '../src/files/json.js';
import { calibrationFileOf, findCalibration, readCalibration } from '../src/risk/calibration-file.js';

/** Where the calibration of a model is; `unknown` before weights are converted, because its fingerprint is. */
export type CalibrationPlace = 'own' | 'of another model' | 'shipped' | 'none' | 'unknown';

/** Properties of a model; of one that is only a configuration, without those of its other files. */
export interface ModelFacts {
  readonly name: string;
  readonly dir: string;
  readonly config: ModelConfig;
  readonly parameters: number;
  readonly weightBytes: number;
  /** Types of the weights in floating point. */
  readonly types: readonly StoredType[];
  /** Whether there are matrices in integers. */
  readonly integers: boolean;
  /** Whether there are matrices in FP8. */
  readonly float8: boolean;
  /** Facts of a GGUF file; other fields describe the checkpoint made of it. */
  readonly gguf: GgufFacts | null;
  /** Facts of a folder with quantised weights; other fields describe them as they are converted. */
  readonly quantized: QuantizationFacts | null;
  readonly files: {
    readonly calibration: CalibrationPlace;
    /** Null where it is not known before weights are converted. */
    readonly embeddingRms: number | null;
    readonly tokens: number;
    readonly ends: readonly string[];
    readonly eosTokenIds: readonly number[];
    readonly chatTemplate: boolean;
    /** What may make a prompt other than the model's. */
    readonly warnings: readonly string[];
  } | null;
}

/** @param model a checkpoint folder or a GGUF file, of which nothing is converted, or a file in the format of config.json */
export async function readModelFacts(model: string): Promise<ModelFacts> {
  if (!(await isFile(model))) return readFolder(model);
  return (await isGguf(model)) ? readGgufFile(model) : readConfigAlone(model);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false; // opening it as a folder reports the error
  }
}

async function readFolder(folder: string): Promise<ModelFacts> {
  const checkpoint = await readCheckpoint(folder);
  const { name, dir, config, tensors, tokenizer, eosTokenIds, chatTemplate, weightBytes } = checkpoint;
  const { gguf, quantized, warnings } = checkpoint;
  const all = [...tensors.values()];
  const unpacked = quantized !== null && tensors.get(EMBEDDING)?.file.startsWith(quantized.folder);
  return {
    name,
    dir,
    config,
    parameters: all.reduce((sum, { shape }) => sum + elements(shape), 0),
    weightBytes,
    types: plainTypes(all),
    ...packedTypes(all),
    gguf,
    quantized,
    files: {
      calibration: await calibrationPlace(checkpoint),
      embeddingRms: unpacked ? null : await checkpoint.embeddingRms(),
      tokens: tokenizer.size,
      ends: eosTokenIds.map((id) => tokenizer.tokenText(id)),
      eosTokenIds,
      warnings,
      chatTemplate: chatTemplate.source !== null,
    },
  };
}

async function readGgufFile(path: string): Promise<ModelFacts> {
  const file = resolve(path);
  const model = await readGguf(file);
  const { name, config, tokenizer, chatTemplate, facts } = model;
  const { plan, tensors } = await layOutGguf(model, file);
  const weights = [...tensors.values()];
  const { endIds: eosTokenIds, warnings } = model.texts;
  return {
    name,
    dir: file,
    config,
    gguf: facts,
    quantized: null,
    parameters: weights.reduce((sum, { shape }) => sum + elements(shape), 0),
    weightBytes: weights.reduce((bytes, { byteLength }) => bytes + byteLength, 0),
    types: plainTypes(weights),
    ...packedTypes(weights),
    files: {
      calibration: await calibrationPlace({ dir: plan.folder, gguf: facts, tensors }),
      embeddingRms: null,
      eosTokenIds,
      warnings,
      tokens: tokenizer.size,
      ends: eosTokenIds.map((id) => tokenizer.tokenText(id)),
      chatTemplate: chatTemplate.source !== null,
    },
  };
}

const packedTypes = (weights: readonly Weight[]) => ({
  integers: weights.some((weight) => weight.type === 'packed' && !inFloat8(weight)),
  float8: weights.some(inFloat8),
});

async function calibrationPlace(
  model: Pick<Checkpoint, 'dir' | 'gguf' | 'tensors'>,
): Promise<CalibrationPlace> {
  const weights = [...model.tensors.values()].flatMap(filesOf);
  const isConverted = [join(model.dir, 'config.json'), ...new Set(weights)].every(existsSync);
  if (!isConverted) return (await readCalibration(calibrationFileOf(model))) ? 'own' : 'unknown';
  const found = await findCalibration(model);
  if (!found) return 'none';
  if (found.calibration.model !== (await fingerprint(model))) return 'of another model';
  return found.shipped ? 'shipped' : 'own';
}

/** Types of the weights that are not packed. */
const plainTypes = (weights: readonly Weight[]): readonly StoredType[] => [
  ...new Set(weights.flatMap(({ type }) => (type === 'packed' ? [] : [type]))),
];

async function readConfigAlone(file: string): Promise<ModelFacts> {
  const path = resolve(file);
  const config = parseConfig(await readJson(dirname(path), basename(path)), path);
  const parameters = [...expectedTensors(config).values()].reduce((sum, shape) => sum + elements(shape), 0);
  const type = config.storedType ?? 'fp32';
  return {
    name: basename(dirname(path)),
    dir: path,
    config,
    parameters,
    weightBytes: parameters * (type === 'fp32' ? 4 : 2),
    types: [type],
    ...packedTypes([]),
    gguf: null,
    quantized: null,
    files: null,
  };
}

export const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
