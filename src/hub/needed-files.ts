import { UsageError } from '../files/errors.js';
import type { HubFile } from './hub-files.js';

/** Files of a checkpoint's folder that are read, beside its weights. */
const BESIDE = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'chat_template.json',
];
const REQUIRED = ['config.json', 'tokenizer.json'];
const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const SHARD = /^model-\d+-of-\d+\.safetensors$/;

/**
 * The files that flinch reads of those that a model has.
 * @param gguf this one alone
 * @throws UsageError for a model that flinch cannot run, with what there is instead
 */
export function neededFiles(files: readonly HubFile[], gguf: string | undefined): readonly HubFile[] {
  const named = (path: string): HubFile[] => files.filter((file) => file.path === path);
  const ggufs = files.filter(({ path }) => /\.gguf$/i.test(path)).map(({ path }) => path);
  if (gguf !== undefined) {
    const [file] = named(gguf);
    if (file) return [file];
    throw new UsageError(`--gguf: there is no ${gguf}; the model has ${listOf(ggufs) || 'no GGUF files'}`);
  }
  const weights = named(SINGLE).length > 0 ? named(SINGLE) : shardsOf(files);
  const missing = REQUIRED.filter((path) => named(path).length === 0);
  if (weights.length > 0 && missing.length === 0) return [...BESIDE.flatMap(named), ...weights];
  if (ggufs.length > 0)
    throw new UsageError(`the model has GGUF files only; choose one with --gguf: ${listOf(ggufs)}`);
  const lacks = weights.length === 0 ? 'weights in safetensors' : missing.join(' and ');
  throw new UsageError(`the model has no ${lacks}, which flinch needs`);
}

function shardsOf(files: readonly HubFile[]): readonly HubFile[] {
  const shards = files.filter(({ path }) => SHARD.test(path));
  const index = files.filter(({ path }) => path === INDEX);
  return shards.length > 0 && index.length > 0 ? [...index, ...shards] : [];
}

const listOf = (names: readonly string[]): string =>
  names.length > 12 ? `${names.slice(0, 12).join(', ')} and ${names.length - 12} more` : names.join(', ');
