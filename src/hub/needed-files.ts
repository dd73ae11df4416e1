import { UsageError } from '../files/file-errors.js';
import type { HubFile } from './hub-files.js';

/** Files of a checkpoint's folder that are read, beside its weights. */
const BESIDE = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'additional_chat_templates/tool_use.jinja',
  'chat_template.json',
];
const REQUIRED = ['config.json', 'tokenizer.json'];
const SINGLE = 'model.safetensors';
export const INDEX = 'model.safetensors.index.json';
/** Bytes of an index: mixtures of experts have 100,000 tensors. */
const MAX_INDEX_BYTES = 2 ** 25;

/**
 * The index of a model's shards, which names them; `null` for a model without shards.
 * @throws UsageError for one that is too large
 */
export function indexOf(files: readonly HubFile[]): HubFile | null {
  const index = files.find(({ path }) => path === INDEX);
  if (!index || files.some(({ path }) => path === SINGLE)) return null;
  if (index.bytes <= MAX_INDEX_BYTES) return index;
  throw new UsageError(`${INDEX} has ${index.bytes} bytes (at most ${MAX_INDEX_BYTES})`);
}

/**
 * The files that flinch reads of those that a model has.
 * @param gguf this one alone
 * @param shards names that the index has
 * @throws UsageError for a model that flinch cannot run, with what there is instead
 */
export function neededFiles(
  files: readonly HubFile[],
  gguf: string | undefined,
  shards: ReadonlySet<string>,
): readonly HubFile[] {
  const named = (path: string): HubFile[] => files.filter((file) => file.path === path);
  const ggufs = files.filter(({ path }) => /\.gguf$/i.test(path)).map(({ path }) => path);
  if (gguf !== undefined) {
    const [file] = named(gguf);
    if (file) return [file];
    throw new UsageError(`--gguf: there is no ${gguf}; the model has ${listOf(ggufs) || 'no GGUF files'}`);
  }
  const index = indexOf(files);
  const weights = index ? [index, ...[...shards].flatMap(named)] : named(SINGLE);
  const lost = index && [...shards].find((path) => named(path).length === 0);
  if (lost) throw new UsageError(`${INDEX} names ${lost}, which the model does not have`);
  const missing = REQUIRED.filter((path) => named(path).length === 0);
  if (weights.length > 0 && missing.length === 0) return [...BESIDE.flatMap(named), ...weights];
  if (ggufs.length > 0)
    throw new UsageError(`the model has GGUF files only; choose one with --gguf: ${listOf(ggufs)}`);
  const lacks = weights.length === 0 ? 'weights in safetensors' : missing.join(' and ');
  throw new UsageError(`the model has no ${lacks}, which flinch needs`);
}

const listOf = (names: readonly string[]): string =>
  names.length > 12 ? `${names.slice(0, 12).join(', ')} and ${names.length - 12} more` : names.join(', ');
