import { type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheFolder } from '../../files/cache-folder.js';
import { ModelError, reasonOf } from '../../files/errors.js';
import { ChatTemplate } from '../../tokenizer/chat-template.js';
import { makeTokenizer, type Tokenizer } from '../../tokenizer/tokenizer.js';
import { parseTokenizerConfig } from '../../tokenizer/tokenizer-config.js';
import { type ModelConfig, parseConfig } from '../config.js';
import { type Conversion, convert, planConversion } from '../conversion.js';
import { digestLarge } from '../fingerprint.js';
import type { Weights } from '../weights.js';
import { MAX_HEADER } from './cursor.js';
import { GGUF_MAGIC, type GgufHeader, parseGguf } from './header.js';
import { architectureOf, configJson } from './metadata.js';
import { ggufTokenizer } from './tokenizer.js';
import { convertedGguf, weightInPlace } from './unpack.js';
import { type GgufWeight, ggufWeights, ROPE_FACTORS } from './weights.js';

/** Format of the folder that is made. */
const FORMAT = 'flinch gguf 2';
/** Bytes that are read from the start of a file: the first size is enough for most files. */
const HEADERS = [2 ** 22, MAX_HEADER];

export interface GgufFacts {
  readonly file: string;
  /** How many tensors there are of each type. */
  readonly types: Readonly<Record<string, number>>;
  readonly bitsPerWeight: number;
}

/** A GGUF file, checked but for its weights. */
export interface GgufModel extends CheckedGguf {
  /** Name of the file, without `.gguf`. */
  readonly name: string;
  readonly facts: GgufFacts;
  /** Texts of the checkpoint folder that can be made of the file. */
  readonly texts: GgufTexts;
  /** Identity of the file. */
  readonly digest: string;
}

/** Whether a file begins as GGUF files do, whatever its name: those of Ollama are named by their digest. */
export async function isGguf(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString('latin1') === GGUF_MAGIC;
  } finally {
    await handle.close();
  }
}

/**
 * Reads a GGUF file and checks everything that can be checked without its weights.
 *
 * @param file absolute path
 * @throws ModelError naming file and field
 */
export async function readGguf(file: string): Promise<GgufModel> {
  const { header, rope, digest } = await readSource(file);
  const texts = ggufTexts(header, rope, file);
  const name = basename(file).replace(/\.gguf$/i, '');
  return { name, facts: factsOf(header, file), texts, digest, ...checkGguf(header, texts, file) };
}

/**
 * Makes a checkpoint folder of a GGUF file in the user's cache folder, unless it is there: of what the graphs cannot
 * read where it is.
 *
 * @returns the file's model, the folder, and the weights where they lie
 * @throws ModelError naming file and field
 */
export async function openGguf(
  file: string,
  onProgress?: (progress: Conversion) => void,
): Promise<GgufModel & { readonly dir: string; readonly tensors: Weights }> {
  const model = await readGguf(file);
  const { texts } = model;
  const json = (value: unknown): string => `${JSON.stringify(value)}\n`;
  const { plan } = await layOutGguf(model, file);
  await convert({
    ...plan,
    file,
    onProgress,
    texts: {
      'config.json': json(texts.config),
      'tokenizer.json': json(texts.tokenizer),
      'tokenizer_config.json': json(texts.tokenizerConfig),
    },
  });
  const { tensors } = await layOutGguf(model, file, await realpath(plan.folder));
  return { ...model, dir: plan.folder, tensors };
}

/** The weights of a GGUF file where they lie, once those that have to be are converted into the folder. */
export async function layOutGguf(
  { weights, digest }: GgufModel,
  file: string,
  folder: string = join(cacheFolder(), 'gguf', digest),
) {
  const path = await realpath(file);
  const kept = weights.flatMap((weight) => weightInPlace(weight, path) ?? []);
  const names = new Set(kept.map(({ name }) => name));
  const converted = weights
    .filter(({ name }) => !names.has(name))
    .map((weight) => convertedGguf(weight, file));
  const plan = { format: FORMAT, folder, weights: converted };
  const tensors: Weights = new Map([
    ...planConversion(plan).tensors,
    ...kept.map((weight) => [weight.name, weight] as const),
  ]);
  return { plan, tensors };
}

/** The JSON files that a checkpoint folder would have, and what they do not say. */
export interface GgufTexts {
  readonly config: unknown;
  readonly tokenizer: unknown;
  readonly tokenizerConfig: unknown;
  /** Tokens that end an answer. */
  readonly endIds: readonly number[];
  readonly warnings: readonly string[];
}

/** @param rope contents of `rope_freqs.weight`, where the file has it */
export function ggufTexts(header: GgufHeader, rope: Float32Array | null, file: string): GgufTexts {
  const config = configJson(header, rope, file);
  const made = ggufTokenizer(header, file);
  const { tokenizer, config: tokenizerConfig, bosTokenId, eosTokenIds, endIds, warnings } = made;
  return {
    config: { ...config, bos_token_id: bosTokenId, eos_token_id: eosTokenIds },
    tokenizer,
    tokenizerConfig,
    endIds,
    warnings,
  };
}

export interface CheckedGguf {
  readonly config: ModelConfig;
  readonly weights: readonly GgufWeight[];
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate;
}

/** @throws ModelError for parts that are not supported, or do not fit together */
export function checkGguf(header: GgufHeader, texts: GgufTexts, file: string): CheckedGguf {
  const config = parseConfig(texts.config, file);
  const weights = ggufWeights(header, config, { architecture: architectureOf(header, file), file });
  const tokenizer = makeTokenizer(texts.tokenizer, texts.tokenizerConfig, {
    file,
    vocabSize: config.vocabSize,
  });
  const { namedTokens, chatTemplate } = parseTokenizerConfig(texts.tokenizerConfig, file);
  return { config, weights, tokenizer, chatTemplate: new ChatTemplate(chatTemplate, { file, namedTokens }) };
}

interface Source {
  readonly header: GgufHeader;
  readonly rope: Float32Array | null;
  /** Identity of the file. */
  readonly digest: string;
}

async function readSource(file: string): Promise<Source> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const header = await readHeader(handle, file);
    const digest = await digestLarge(file, async () => header.byteLength);
    return { header, rope: await readRope(handle, header, file), digest };
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(file, '', `cannot be read (${reasonOf(cause)})`, { cause });
  } finally {
    await handle?.close();
  }
}

async function readHeader(handle: FileHandle, file: string): Promise<GgufHeader> {
  const { size } = await handle.stat();
  for (const length of HEADERS) {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(Math.min(length, size)), { position: 0 });
    const header = parseGguf(buffer.subarray(0, bytesRead), size, file);
    if (header) return header;
  }
  throw new ModelError(file, '', `ends before byte ${size} while it is read`);
}

async function readRope(handle: FileHandle, header: GgufHeader, file: string): Promise<Float32Array | null> {
  const tensor = header.tensors.get(ROPE_FACTORS);
  if (!tensor) return null;
  const { offset, byteLength, type } = tensor;
  if (type.name !== 'F32' || byteLength === null || byteLength > 4096) {
    const problem = `is ${type.name} of ${byteLength} bytes, expected F32 of at most 4096`;
    throw new ModelError(file, ROPE_FACTORS, problem);
  }
  const { buffer } = await handle.read(new Uint8Array(byteLength), { position: offset });
  return new Float32Array(buffer.buffer);
}

function factsOf({ tensors }: GgufHeader, file: string): GgufFacts {
  const types: Record<string, number> = {};
  let [bytes, elements] = [0, 0];
  for (const { type, dims, byteLength } of tensors.values()) {
    types[type.name] = (types[type.name] ?? 0) + 1;
    bytes += byteLength ?? 0;
    elements += dims.reduce((product, size) => product * size, 1);
  }
  return { file, types, bitsPerWeight: (8 * bytes) / elements };
}
