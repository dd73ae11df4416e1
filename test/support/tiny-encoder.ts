import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Graph } from '#src/onnx/graph.js';
import type { Value } from '#src/onnx/onnx-types.js';
import { serialize } from '#src/onnx/serialize.js';

/** WordPiece: lower case, split at white space and punctuation, special tokens as BERT has them. */
export const WORDS = [
  '[PAD]',
  '[UNK]',
  '[CLS]',
  '[SEP]',
  'the',
  'sum',
  'is',
  '6',
  '7',
  'six',
  'dif',
  '##ference',
];

export const wordPiece = {
  normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  model: {
    type: 'WordPiece',
    vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
  },
  post_processor: { type: 'BertProcessing', cls: ['[CLS]', 2], sep: ['[SEP]', 3] },
  decoder: null,
  added_tokens: WORDS.slice(0, 4).map((content, id) => ({ id, content, special: true, normalized: false })),
};

/** Embedding of each token id, and the vector that the second text of a pair adds to it. */
export const EMBEDDINGS = WORDS.map((_, id) => [Math.sin(id + 1), Math.cos(3 * id), (id % 3) - 1]);
const OF_PAIR = [0.5, -0.25, 0.125];
const WIDTH = 3;

export const NLI_HEAD = [
  [1, -2, 0.5],
  [0.25, 1, 1],
  [-1, 0.5, 2],
];
export const SIMILARITY_HEAD = [[0.5, -1, 2]];

export interface TinyEncoder {
  readonly head: readonly (readonly number[])[] | 'sentence';
  readonly config?: object;
  readonly tokenizer?: object;
  readonly file?: string;
  /** Names of graph inputs in place of the usual ones. */
  readonly inputs?: readonly string[];
  readonly output?: string;
}

/**
 * Writes a model with the files that Transformers.js expects: the embedding of each token, the vector that the second
 * text adds, and the mean of both without padding, through a linear head; or, for sentences, the rows themselves.
 */
export async function writeTinyEncoder(options: TinyEncoder): Promise<string> {
  const { head, config = {}, tokenizer = wordPiece, file = 'onnx/model.onnx' } = options;
  const folder = await mkdtemp(join(tmpdir(), 'flinch-encoder-'));
  await mkdir(join(folder, 'onnx'));
  const labels = head === 'sentence' ? {} : { id2label: idsOf(head.length === 3 ? LABELS : ['LABEL_0']) };
  const json = { max_position_embeddings: 32, ...labels, ...config };
  await writeFile(join(folder, 'config.json'), JSON.stringify(json));
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ pad_token: '[PAD]' }));
  await writeFile(join(folder, file), serialize(graphOf(options)));
  return folder;
}

export const LABELS = ['CONTRADICTION', 'Neutral', 'entailment'];

export const idsOf = (labels: readonly string[]) =>
  Object.fromEntries(labels.map((label, id) => [String(id), label]));

function graphOf({
  head,
  inputs = ['input_ids', 'attention_mask', 'token_type_ids'],
  output,
}: TinyEncoder): Graph {
  const g = new Graph();
  const shape = ['batch', 'length'];
  const [ids, mask, types] = inputs.map((name) => g.input(name, 'int64', shape));
  const table = g.array(Float32Array.from(EMBEDDINGS.flat()), [WORDS.length, WIDTH]);
  const pair = g.array(Float32Array.from([0, 0, 0, ...OF_PAIR]), [2, WIDTH]);
  const column = (value: Value) => g.unsqueeze(g.cast(value, 'float32'), [2]);
  const rows = g.op('Add', [
    g.op('Gather', [table, ids!], { axis: 0 }),
    g.op('Gather', [pair, types ?? mask!], { axis: 0 }),
  ]);
  if (head === 'sentence') {
    // Padding is given what must not be read.
    const noise = g.op('Mul', [g.op('Sub', [g.scalar(1), column(mask!)]), g.scalar(1000)]);
    g.output(output ?? 'last_hidden_state', g.op('Add', [rows, noise]));
    return g;
  }
  const kept = column(mask!);
  const sum = g.reduce('ReduceSum', g.op('Mul', [rows, kept]), [1], { keepDims: false });
  const mean = g.op('Div', [sum, g.reduce('ReduceSum', kept, [1], { keepDims: false })]);
  const weights = g.array(Float32Array.from(head.flat()), [head.length, WIDTH]);
  g.output(output ?? 'logits', g.op('Gemm', [mean, weights], { transB: 1 }));
  return g;
}

/** Result of the graph, by hand: the mean over tokens. @param pairFrom where the second text begins */
export function meanOf(ids: readonly number[], pairFrom = ids.length): number[] {
  return Array.from({ length: WIDTH }, (_, d) => {
    const rows = ids.map((id, i) => EMBEDDINGS[id]![d]! + (i >= pairFrom ? OF_PAIR[d]! : 0));
    return rows.reduce((a, b) => a + b) / ids.length;
  });
}

export const applyHead = (head: readonly (readonly number[])[], mean: readonly number[]): number[] =>
  head.map((row) => row.reduce((sum, weight, d) => sum + weight * mean[d]!, 0));
