import { type FileHandle, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { cacheFolder } from '../../files/cache-folder.js';
import { ModelError } from '../../files/file-errors.js';
import type { ChatTemplate } from '../../tokenizer/chat-template.js';
import { makeTokenizer, type Tokenizer } from '../../tokenizer/tokenizer.js';
import { type ModelConfig, parseConfig } from '../config.js';
import { type Conversion, convert, planConversion } from '../conversion.js';
import { digestLarge } from '../fingerprint.js';
import { readAt, readTensor, withFile } from '../read-file.js';
import type { Weights } from '../weights.js';
import { MAX_HEADER } from './cursor.js';
import { architectureOf, configJson } from './gguf-metadata.js';
import { ggufTokenizer } from './gguf-tokenizer.js';
import { convertedGguf, weightInPlace } from './gguf-unpack.js';
import { type GgufWeight, ggufWeights, ROPE_FACTORS } from './gguf-weights.js';
import { GGUF_MAGIC, type GgufHeader, parseGguf } from './header.js';

/** Format of the folder that is made. */
const FORMAT = 'flinch gguf 2';
/** Bytes that are read from the start of a file: the first size is enough for most files. */
const HEADERS = [2 ** 22, MAX_HEADER];

export interface GgufFacts {
  readonly file: string;
  readonly types: Readonly<Record<string, number>>;
  readonly bitsPerWeight: number;
}

export interface GgufModel extends GgufContents {
  /** Name of the file, without `.gguf`. */
  readonly name: string;
  readonly facts: GgufFacts;
  /** Identity of the file. */
  readonly digest: string;
}

/** Whether a file begins as GGUF files do, whatever its name: those of Ollama are named by their digest. */
export const isGguf = (file: string): Promise<boolean> =>
  withFile(file, async (handle) => {
    const magic = await readAt(handle, 0, GGUF_MAGIC.length);
    return Buffer.from(magic).toString('latin1') === GGUF_MAGIC;
  });

/**
 * Reads a GGUF file and checks everything that can be checked without its weights.
 *
 * @param file absolute path
 * @throws ModelError naming file and field
 */
export async function readGguf(file: string): Promise<GgufModel> {
  const { header, rope, digest } = await withFile(file, async (handle) => {
    const header = await readHeader(handle, file);
    const digest = await digestLarge(file, async () => header.byteLength);
    return { header, digest, rope: await readRope(handle, header, file) };
  });
  const name = basename(file).replace(/\.gguf$/i, '');
  return { name, facts: factsOf(header, file), digest, ...ggufContents(header, rope, file) };
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
  const { plan } = await layOutGguf(model, file);
  await convert({ ...plan, file, onProgress, texts: model.texts });
  const { tensors } = await layOutGguf(model, file, await realpath(plan.folder));
  return { ...model, dir: plan.folder, tensors };
}

/** The weights of a GGUF file where they lie, once those that have to be are converted into the folder. */
export async function layOutGguf(
  { weights, digest }: GgufModel,
  file: string,
  folder: string = cacheFolder('gguf', digest),
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

/** What a GGUF file says, checked but for the numbers of its weights. */
interface GgufContents {
  readonly config: ModelConfig;
  readonly weights: readonly GgufWeight[];
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate;
  /** Contents of the JSON files that a checkpoint folder would have. */
  readonly texts: Readonly<Record<string, unknown>>;
  /** Tokens that end an answer. */
  readonly endIds: readonly number[];
  readonly warnings: readonly string[];
}

/**
 * @param rope contents of `rope_freqs.weight`, where the file has it
 * @throws ModelError for parts that are not supported, or do not fit together
 */
export function ggufContents(header: GgufHeader, rope: Float32Array | null, file: string): GgufContents {
  const json = configJson(header, rope, file);
  const made = ggufTokenizer(header, file);
  const texts = {
    'config.json': { ...json, bos_token_id: made.bosTokenId, eos_token_id: made.eosTokenIds },
    'tokenizer.json': made.tokenizer,
    'tokenizer_config.json': made.config,
  };
  const config = parseConfig(texts['config.json'], file);
  const weights = ggufWeights(header, config, { architecture: architectureOf(header, file), file });
  const tokenizer = makeTokenizer(made.tokenizer, made.config, { file, vocabSize: config.vocabSize });
  const { chatTemplate, endIds, warnings } = made;
  return { config, weights, tokenizer, chatTemplate, texts, endIds, warnings };
}

async function readHeader(handle: FileHandle, file: string): Promise<GgufHeader> {
  const { size } = await handle.stat();
  for (const length of HEADERS) {
    const header = parseGguf(await readAt(handle, 0, Math.min(length, size)), size, file);
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
  const bytes = await readTensor(handle, { file, name: ROPE_FACTORS, offset, byteLength });
  return new Float32Array(bytes.buffer);
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
