import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Checkpoint, readCheckpoint } from '../src/checkpoint/checkpoint.js';
import type { ModelConfig } from '../src/checkpoint/config.js';
import type { StoredType } from '../src/checkpoint/elements.js';
import { fingerprint } from '../src/checkpoint/fingerprint.js';
import { type GgufFacts, isGguf, layOutGguf, readGguf } from '../src/checkpoint/gguf/open-gguf.js';
import type { QuantizationFacts } from '../src/checkpoint/quantized/open-quantized.js';
import { EMBEDDING, filesOf, inFloat8, type Weight } from '../src/checkpoint/weights.js';
import { calibrationFileOf, findCalibration, readCalibration } from '../src/risk/calibration-file.js';

/** Where the calibration of a model is; `unknown` before weights are converted, because its fingerprint is. */
export type CalibrationPlace = 'own' | 'of another model' | 'shipped' | 'none' | 'unknown';

/** Properties of a model. */
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
  readonly calibration: CalibrationPlace;
  /** Null where it is not known before weights are converted. */
  readonly embeddingRms: number | null;
  readonly tokens: number;
  readonly ends: readonly string[];
  readonly eosTokenIds: readonly number[];
  readonly chatTemplate: boolean;
  /** What may make a prompt other than the model's. */
  readonly warnings: readonly string[];
}

/** @param model a checkpoint folder or a GGUF file, of which nothing is converted */
export async function readModelFacts(model: string): Promise<ModelFacts> {
  const isFile = statSync(model).isFile() && (await isGguf(model));
  return isFile ? readGgufFile(resolve(model)) : readFolder(model);
}

async function readFolder(folder: string): Promise<ModelFacts> {
  const checkpoint = await readCheckpoint(folder);
  const { name, dir, config, weightBytes, gguf, quantized, warnings } = checkpoint;
  const { tokenizer, eosTokenIds, chatTemplate, tensors } = checkpoint;
  const unpacked = quantized !== null && tensors.get(EMBEDDING)?.file.startsWith(quantized.folder);
  return {
    name,
    dir,
    config,
    weightBytes,
    gguf,
    quantized,
    warnings,
    ...weightFacts([...tensors.values()]),
    calibration: await calibrationPlace(checkpoint),
    embeddingRms: unpacked ? null : await checkpoint.embeddingRms(),
    tokens: tokenizer.size,
    ends: eosTokenIds.map((id) => tokenizer.tokenText(id)),
    eosTokenIds,
    chatTemplate: chatTemplate.source !== null,
  };
}

async function readGgufFile(file: string): Promise<ModelFacts> {
  const model = await readGguf(file);
  const { name, config, tokenizer, chatTemplate, facts, endIds, warnings } = model;
  const { plan, tensors } = await layOutGguf(model, file);
  const weights = [...tensors.values()];
  return {
    name,
    dir: file,
    config,
    gguf: facts,
    quantized: null,
    weightBytes: weights.reduce((bytes, { byteLength }) => bytes + byteLength, 0),
    ...weightFacts(weights),
    calibration: await calibrationPlace({ dir: plan.folder, gguf: facts, tensors }),
    embeddingRms: null,
    eosTokenIds: endIds,
    warnings,
    tokens: tokenizer.size,
    ends: endIds.map((id) => tokenizer.tokenText(id)),
    chatTemplate: chatTemplate.source !== null,
  };
}

const weightFacts = (weights: readonly Weight[]) => ({
  parameters: weights.reduce((sum, { shape }) => sum + elements(shape), 0),
  types: [...new Set(weights.flatMap(({ type }) => (type === 'packed' ? [] : [type])))],
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

export const elements = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
