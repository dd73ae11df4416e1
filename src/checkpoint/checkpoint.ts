import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ModelError, reasonOf } from '../files/errors.js';
import { isMissing, readJson, readOptionalJson } from '../files/json.js';
import { type ChatTemplate, openChatTemplate } from '../tokenizer/chat-template.js';
import { openTokenizer, type Tokenizer } from '../tokenizer/tokenizer.js';
import { type ModelConfig, parseConfig } from './config.js';
import { embeddingRms } from './embedding-rms.js';
import { type GenerationDefaults, parseGenerationConfig } from './generation-config.js';
import { readSafetensors, type TensorIndex } from './safetensors.js';
import { checkTensors, expectedTensors, splitFused } from './weights.js';

/** A model as a folder in the layout of Hugging Face, checked but not loaded: no weight has been read. */
export interface Checkpoint {
  /** Name of the folder. */
  readonly name: string;
  /** Absolute path. */
  readonly dir: string;
  readonly config: ModelConfig;
  readonly generation: GenerationDefaults;
  readonly tensors: TensorIndex;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate;
  /** Tokens that end a response: those of generation_config.json, else of config.json. */
  readonly eosTokenIds: readonly number[];
  /** Bytes of the weights that the decoder reads, as stored. */
  readonly weightBytes: number;
  /** Root mean square of the embeddings as they enter the first layer, read when first asked for. Throws ModelError. */
  readonly embeddingRms: () => Promise<number>;
}

/**
 * Opens a checkpoint folder and checks everything that can be checked without reading weights.
 *
 * @throws ModelError naming the file, and the field where there is one
 */
export async function openCheckpoint(dir: string): Promise<Checkpoint> {
  const folder = resolve(dir);
  await checkFolder(folder);
  const config = parseConfig(await readJson(folder, 'config.json'), join(folder, 'config.json'));
  const generation = await openGenerationConfig(folder, config);
  const stored = await readSafetensors(folder);
  checkTensors(config, stored, folder);
  const tensors = splitFused(config, stored);
  let rms: Promise<number> | undefined;
  const needed = [...expectedTensors(config).keys()];
  return {
    name: basename(folder),
    dir: folder,
    config,
    generation,
    tensors,
    tokenizer: await openTokenizer(folder, config),
    chatTemplate: await openChatTemplate(folder),
    eosTokenIds: generation.eosTokenIds ?? config.eosTokenIds,
    weightBytes: needed.reduce((bytes, name) => bytes + (tensors.get(name)?.byteLength ?? 0), 0),
    embeddingRms: () => (rms ??= embeddingRms(tensors, config.embeddingScale)),
  };
}

async function checkFolder(dir: string): Promise<void> {
  try {
    if ((await stat(dir)).isDirectory()) return;
  } catch (cause) {
    const problem = isMissing(cause) ? 'the folder is missing' : `cannot be read (${reasonOf(cause)})`;
    throw new ModelError(dir, '', problem, { cause });
  }
  throw new ModelError(dir, '', 'is not a folder');
}

async function openGenerationConfig(dir: string, config: ModelConfig): Promise<GenerationDefaults> {
  const file = join(dir, 'generation_config.json');
  const generation = parseGenerationConfig(await readOptionalJson(dir, 'generation_config.json'), file);
  const beyond = generation.eosTokenIds?.find((id) => id >= config.vocabSize);
  if (beyond === undefined) return generation;
  throw new ModelError(file, 'eos_token_id', `${beyond} is outside the vocabulary of ${config.vocabSize}`);
}
