import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ModelError } from 'flinch';
import {
  digestLarge,
  isMissing,
  parseJson,
  readJson,
  readOptionalJson,
  reasonOf,
  show,
} from 'flinch/internals';
import { z } from 'zod';
import type { Relation } from '../baselines/ccp.js';
import type { OpenEncoder } from './encoder-messages.js';

/** Purposes of an encoder: classes of inference, similarity of two texts, vectors of sentences. */
export type EncoderUse = 'nli' | 'similarity' | 'sentence';

export interface EncoderFolder extends Pick<OpenEncoder, 'file' | 'folder' | 'maxTokens' | 'head'> {
  /** Name of the folder and the file in it, for reports. */
  readonly name: string;
  /**
   * Identity of the model, also among folders of the same name: from its graph, external weights,
   * configuration and tokenizer.
   */
  readonly fingerprint: string;
  /** Relation of each logit, for `nli`. */
  readonly relations: readonly Relation[];
}

/**
 * Names of the graph in folders of Transformers.js and sentence-transformers; the first that exists is used.
 */
const FILES = ['onnx/model.onnx', 'model.onnx', 'onnx/model_quantized.onnx', 'model_quantized.onnx'];

/** Word pieces of an input; of a sentence as all-MiniLM-L6-v2 was trained. */
const MAX_TOKENS = 512;
const MAX_SENTENCE_TOKENS = 256;
/** Tokenizers without a limit write 1e30. */
const NO_LIMIT = 1e6;

const configSchema = z.object({
  model_type: z.string().nullish(),
  id2label: z.record(z.string(), z.string()).nullish(),
  max_position_embeddings: z.int().nullish(),
  pad_token_id: z.int().nullish(),
});
const tokenizerSchema = z.object({ model_max_length: z.number().positive().nullish() });

/**
 * Reads what is to be known of an encoder before its graph is opened.
 * @throws ModelError that names the file, and the field where there is one
 */
export async function readEncoderFolder(dir: string, use: EncoderUse): Promise<EncoderFolder> {
  const folder = resolve(dir);
  const model = await findModel(folder);
  const configFile = join(folder, 'config.json');
  const config = parseJson(configSchema, await readJson(folder, 'config.json'), configFile);
  const tokenizerFile = join(folder, 'tokenizer_config.json');
  const tokenizerJson = (await readOptionalJson(folder, 'tokenizer_config.json')) ?? {};
  const { model_max_length: limit } = parseJson(tokenizerSchema, tokenizerJson, tokenizerFile);
  const maxTokens = Math.min(
    use === 'sentence' ? MAX_SENTENCE_TOKENS : MAX_TOKENS,
    positionsOf(config),
    limit && limit < NO_LIMIT ? limit : Number.POSITIVE_INFINITY,
  );
  if (maxTokens < 8) throw new ModelError(configFile, '', `leaves room for only ${maxTokens} tokens`);
  const labels = Object.entries(config.id2label ?? {});
  const name = `${basename(folder)}/${model.slice(folder.length + 1)}`;
  const given = {
    folder,
    name,
    file: await realpath(model),
    maxTokens,
    fingerprint: await fingerprintOf(folder, model),
  };
  if (use === 'sentence') return { ...given, head: { kind: 'sentence' }, relations: [] };
  if (use === 'similarity') {
    // A model without id2label is taken to have one label.
    if (labels.length <= 1) return { ...given, head: { kind: 'logits', labels: 1 }, relations: [] };
    const problem = `has ${labels.length} labels; a similarity cross-encoder has one`;
    throw new ModelError(configFile, 'id2label', problem);
  }
  const relations = relationsOf(labels, configFile);
  return { ...given, head: { kind: 'logits', labels: relations.length }, relations };
}

/** @returns 16 hexadecimal digits */
async function fingerprintOf(folder: string, model: string): Promise<string> {
  // Graphs of more than 2 GB have their weights beside them.
  const files = [model, `${model}_data`, join(folder, 'config.json'), join(folder, 'tokenizer.json')];
  const digests = await Promise.all(files.map((file) => (existsSync(file) ? digestLarge(file) : '')));
  return createHash('sha256').update(digests.join()).digest('hex').slice(0, 16);
}

/** Positions that the model has room for: those of the RoBERTa family are numbered from behind the padding's. */
function positionsOf(config: z.output<typeof configSchema>): number {
  const { max_position_embeddings: positions, model_type: type, pad_token_id: padding } = config;
  if (!positions) return Number.POSITIVE_INFINITY;
  return /roberta|camembert|mpnet/.test(type ?? '') ? positions - (padding ?? 1) - 1 : positions;
}

/** Relations by the names of the labels, in any case: their order differs from model to model. */
function relationsOf(labels: readonly (readonly [string, string])[], file: string): Relation[] {
  const relations: Relation[] = [];
  for (const [id, label] of labels) {
    const relation = (['entail', 'contra', 'neutral'] as const).find((kind) =>
      label.toLowerCase().includes(kind),
    );
    if (!relation) {
      const problem = `${show(label)} is none of entailment, contradiction and neutral`;
      throw new ModelError(file, `id2label.${id}`, problem);
    }
    if (relations.includes(relation))
      throw new ModelError(file, `id2label.${id}`, `${show(label)} is given twice`);
    relations[Number(id)] = relation;
  }
  if (relations.length === 3 && labels.length === 3) return relations;
  throw new ModelError(file, 'id2label', 'needs the labels entailment, contradiction and neutral, 0 to 2');
}

async function findModel(folder: string): Promise<string> {
  for (const name of FILES) {
    const path = join(folder, name);
    try {
      if ((await stat(path)).isFile()) return path;
    } catch (cause) {
      if (!isMissing(cause)) throw new ModelError(path, '', `cannot be read (${reasonOf(cause)})`, { cause });
    }
  }
  throw new ModelError(folder, '', `has no ${FILES.join(', ')}`);
}
