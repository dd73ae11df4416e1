import { basename, join, resolve } from 'node:path';
import { ModelError } from '../files/file-errors.js';
import { readJson, readOptionalJson } from '../files/json.js';
import { type ChatTemplate, openChatTemplate } from '../tokenizer/chat-template.js';
import type { PromptModel } from '../tokenizer/prompt.js';
import { closingToken, conversationsOf, tokenFaults } from '../tokenizer/template-tokens.js';
import { openTokenizer, type Tokenizer } from '../tokenizer/tokenizer.js';
import { type ModelConfig, parseConfig } from './config.js';
import type { Conversion } from './conversion.js';
import { type GenerationDefaults, parseGenerationConfig } from './generation-config.js';
import { type GgufFacts, openGguf, readGguf } from './gguf/open-gguf.js';
import { ggufFilesIn, isGgufFile, snapshotName } from './model-path.js';
import { openQuantized, type QuantizationFacts, type UnpackOptions } from './quantized/open-quantized.js';
import { type FileTensor, readSafetensors } from './safetensors.js';
import { embeddingRms } from './weight-values.js';
import {
  checkTensors,
  expectedTensors,
  splitFused,
  type Weight,
  type Weights,
  weightsIn,
} from './weights.js';

/** A model as a folder in the layout of Hugging Face, checked but not loaded: no weight has been read. */
export interface Checkpoint {
  /** Name of the folder, or of the GGUF file. */
  readonly name: string;
  readonly dir: string;
  /** The file that the folder was made of; `null` where it was not. */
  readonly gguf: GgufFacts | null;
  /** How the folder's weights are quantised; `null` where they are not. */
  readonly quantized: QuantizationFacts | null;
  readonly config: ModelConfig;
  readonly generation: GenerationDefaults;
  readonly tensors: Weights;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate;
  /** Tokens that end a response ({@link endIdsOf}). */
  readonly eosTokenIds: readonly number[];
  /** What may make a prompt other than the model's. */
  readonly warnings: readonly string[];
  /** Bytes of the weights that the decoder reads, as stored. */
  readonly weightBytes: number;
  /** The calibration to use; absent: the one beside it, or else the one that comes with flinch for it. */
  readonly calibrationFile?: string;
  /** Root mean square of the embeddings as they enter the first layer, read when first asked for. Throws ModelError. */
  readonly embeddingRms: () => Promise<number>;
}

export interface OpenCheckpointOptions {
  /** Called while a GGUF file or a quantised checkpoint that is opened for the first time is unpacked. */
  readonly onConversion?: (progress: Conversion) => void;
  readonly onWarning?: (warning: string) => void;
  /** Calibration to use in place of the one beside it ({@link Checkpoint.calibrationFile}). */
  readonly calibrationFile?: string | undefined;
}

/**
 * Opens a checkpoint folder and checks everything that can be checked without reading weights; or a GGUF file, of which
 * such a folder is made in the user's cache folder when it is first opened. Quantised weights are unpacked there, too.
 *
 * @throws ModelError naming the file, and the field where there is one
 */
export async function openCheckpoint(
  path: string,
  { onConversion, onWarning, calibrationFile }: OpenCheckpointOptions = {},
): Promise<Checkpoint> {
  const checkpoint = await openSource(resolve(path), onConversion);
  for (const warning of checkpoint.warnings) onWarning?.(`${checkpoint.name}: ${warning}`);
  return { ...checkpoint, ...(calibrationFile && { calibrationFile: resolve(calibrationFile) }) };
}

async function openSource(
  source: string,
  onConversion: OpenCheckpointOptions['onConversion'],
): Promise<Checkpoint> {
  if (!(await isGgufFile(source))) return openFolder(source, { unpack: true, onProgress: onConversion });
  const model = await openGguf(source, onConversion);
  const { name, dir, config, tokenizer, chatTemplate, facts: gguf, endIds: eosTokenIds, warnings } = model;
  const generation = parseGenerationConfig(undefined, source);
  const parts = { name, dir, config, tokenizer, chatTemplate, gguf, generation, eosTokenIds, warnings };
  return assemble({ ...parts, quantized: null }, model.tensors);
}

/**
 * Opens a checkpoint folder as {@link openCheckpoint} does, and unpacks no quantised weights: their tensors are where
 * they would be.
 * @throws ModelError naming the file, and the field where there is one
 */
export const readCheckpoint = (dir: string): Promise<Checkpoint> =>
  openFolder(resolve(dir), { unpack: false });

async function openFolder(source: string, options: UnpackOptions): Promise<Checkpoint> {
  const models = await ggufFilesIn(source);
  if (models.length > 0)
    throw new ModelError(source, '', `has GGUF files, each of which is a model: ${models.join(', ')}`);
  const config = parseConfig(await readJson(source, 'config.json'), join(source, 'config.json'));
  const generation = await openGenerationConfig(source, config);
  const tokenizer = await openTokenizer(source, config);
  const chatTemplate = await openChatTemplate(source);
  const parts = {
    name: snapshotName(source) ?? basename(source),
    dir: source,
    gguf: null,
    config,
    generation,
    tokenizer,
    chatTemplate,
    eosTokenIds: endIdsOf(generation.eosTokenIds ?? config.eosTokenIds, { tokenizer, chatTemplate }),
    warnings: tokenFaults(chatTemplate, (token) => tokenizer.idOf(token) !== undefined),
  };
  const index = await readSafetensors(source);
  const { quantization } = config;
  if (!quantization) return assemble({ ...parts, quantized: null }, index);
  const { facts, tensors } = await openQuantized({ config, quantization, dir: source }, index, options);
  return assemble({ ...parts, quantized: facts }, tensors);
}

/**
 * Tokens that end an answer: those of generation_config.json, else of config.json, and those that end a text or an
 * answer by the tokenizer's files, as servers take them, too.
 */
function endIdsOf(stated: readonly number[], { tokenizer, chatTemplate }: PromptModel): readonly number[] {
  const closing = closingToken(
    conversationsOf(chatTemplate),
    tokenizer.added.map(({ content }) => content),
  );
  const others = [chatTemplate.namedTokens.get('eos_token'), closing];
  return [...new Set([...stated, ...others.flatMap((token) => tokenizer.idOf(token ?? '') ?? [])])];
}

/**
 * Checks a model as {@link openCheckpoint} does, and unpacks nothing.
 * @throws ModelError naming the file, and the field where there is one
 */
export async function checkModel(path: string): Promise<void> {
  const source = resolve(path);
  if (await isGgufFile(source)) await readGguf(source);
  else await readCheckpoint(source);
}

function assemble(
  parts: Omit<Checkpoint, 'tensors' | 'weightBytes' | 'embeddingRms'>,
  stored: ReadonlyMap<string, FileTensor | Weight>,
): Checkpoint {
  const { config, dir } = parts;
  checkTensors(config, stored, dir);
  const tensors = splitFused(config, weightsIn(stored));
  let rms: Promise<number> | undefined;
  const needed = [...expectedTensors(config).keys()];
  return {
    ...parts,
    tensors,
    weightBytes: needed.reduce((bytes, name) => bytes + (tensors.get(name)?.byteLength ?? 0), 0),
    embeddingRms: () => (rms ??= embeddingRms(tensors, config.embeddingScale)),
  };
}

async function openGenerationConfig(dir: string, config: ModelConfig): Promise<GenerationDefaults> {
  const file = join(dir, 'generation_config.json');
  const generation = parseGenerationConfig(await readOptionalJson(dir, 'generation_config.json'), file);
  const beyond = generation.eosTokenIds?.find((id) => id >= config.vocabSize);
  if (beyond === undefined) return generation;
  throw new ModelError(file, 'eos_token_id', `${beyond} is outside the vocabulary of ${config.vocabSize}`);
}
