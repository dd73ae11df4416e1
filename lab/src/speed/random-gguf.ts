import { open } from 'node:fs/promises';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { parseConfig } from '#src/checkpoint/config.js';
import { ggufNames } from '#src/checkpoint/gguf/weights.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { BLOCK_TYPES, type BlockType } from './gguf-blocks.js';
import { byteTokens, CHUNK, configOf, draw, type Shape, sizeOf } from './random-checkpoint.js';

export const GGUF_FORMATS = ['F32', 'Q8_0', 'Q4_0', 'Q4_K'] as const;
export type GgufFormat = (typeof GGUF_FORMATS)[number];

const ALIGNMENT = 32;

interface Planned {
  readonly name: string;
  readonly shape: readonly number[];
  /** `null`: F32. */
  readonly type: BlockType | null;
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Writes a Llama model of random weights as a GGUF file, as {@link writeRandomCheckpoint} does. Matrices are of the
 * format, vectors F32. Rows that Q4_K's blocks of 256 do not fit are Q5_0, which is what llama.cpp makes of them.
 */
export async function writeRandomGguf(
  file: string,
  shape: Shape,
  { format, seed }: { readonly format: GgufFormat; readonly seed: number },
): Promise<void> {
  const config = parseConfig(configOf(shape, 'fp32'), file);
  const nameIn = ggufNames(config);
  let end = 0;
  const tensors = [...expectedTensors(config)].map(([name, dims]): Planned => {
    const type = typeOf(format, dims);
    const bytes = type ? (sizeOf(dims) / type.elements) * type.bytes : 4 * sizeOf(dims);
    const offset = end;
    end += aligned(bytes);
    return { name: nameIn(name), shape: dims, type, offset, bytes };
  });
  const metadata = metadataOf(shape, config.headDim).map(([key, value]) =>
    Buffer.concat([text(key), typed(value)]),
  );
  const infos = tensors.map(({ name, shape: dims, type, offset }) =>
    Buffer.concat([
      ...[text(name), u32(dims.length), ...dims.toReversed().map(u64)],
      ...[u32(type?.id ?? 0), u64(offset)],
    ]),
  );
  const header = Buffer.concat([
    ...[Buffer.from('GGUF'), u32(3), u64(infos.length), u64(metadata.length)],
    ...[...metadata, ...infos],
  ]);
  const random = xoroshiro128plus(seed);
  const to = await open(file, 'w');
  try {
    await to.writeFile(padded(header));
    for (const { shape: dims, type, bytes } of tensors) {
      for (const part of valuesOf(random, dims, type)) await to.writeFile(part);
      await to.writeFile(new Uint8Array(aligned(bytes) - bytes));
    }
  } finally {
    await to.close();
  }
}

function typeOf(format: GgufFormat, [, inputs]: readonly number[]): BlockType | null {
  if (inputs === undefined || format === 'F32') return null;
  const type = BLOCK_TYPES[format];
  return inputs % type.elements === 0 ? type : BLOCK_TYPES.Q5_0;
}

function* valuesOf(
  random: RandomGenerator,
  shape: readonly number[],
  type: BlockType | null,
): Generator<Uint8Array> {
  const size = sizeOf(shape);
  const inputs = shape[1] ?? null;
  for (let done = 0; done < size; done += CHUNK) {
    const count = Math.min(CHUNK, size - done);
    if (type === null || inputs === null) yield new Uint8Array(draw(random, count, inputs).buffer);
    else yield drawBlocks(random, type, count / type.elements, 1 / Math.sqrt(inputs));
  }
}

export function drawBlocks(
  random: RandomGenerator,
  { bytes, head }: BlockType,
  blocks: number,
  deviation: number,
): Uint8Array {
  const drawn = randomBytes(random, blocks * bytes);
  const first = head(deviation);
  for (let at = 0; at < drawn.length; at += bytes) drawn.set(first, at);
  return drawn;
}

export function randomBytes(random: RandomGenerator, count: number): Uint8Array {
  const words = new Int32Array(Math.ceil(count / 4));
  for (let i = 0; i < words.length; i++) words[i] = random.next();
  return new Uint8Array(words.buffer, 0, count);
}

type Value = string | number | readonly string[] | readonly number[];

function metadataOf(shape: Shape, headDim: number): [string, Value][] {
  const tokens = byteTokens(shape.vocab_size);
  return [
    ['general.architecture', 'llama'],
    ['general.name', 'random'],
    ['llama.context_length', shape.max_position_embeddings],
    ['llama.embedding_length', shape.hidden_size],
    ['llama.block_count', shape.num_hidden_layers],
    ['llama.feed_forward_length', shape.intermediate_size],
    ['llama.attention.head_count', shape.num_attention_heads],
    ['llama.attention.head_count_kv', shape.num_key_value_heads],
    ['llama.attention.layer_norm_rms_epsilon', 1e-5],
    ['llama.rope.dimension_count', headDim],
    ['llama.vocab_size', shape.vocab_size],
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', 'gpt-2'],
    ['tokenizer.ggml.tokens', tokens],
    // llama.cpp wants one.
    ['tokenizer.ggml.merges', [`${tokens[0]} ${tokens[1]}`]],
    ['tokenizer.ggml.eos_token_id', 0],
  ];
}

/** Numbers of the types of metadata: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
const UINT32 = 4;
const FLOAT32 = 6;
const STRING = 8;
const ARRAY = 9;

const typed = (value: Value): Uint8Array => {
  if (typeof value !== 'object') return Buffer.concat([u32(numberOf(value)), encoded(value)]);
  return Buffer.concat([
    ...[u32(ARRAY), u32(numberOf(value[0] ?? 0)), u64(value.length)],
    ...value.map(encoded),
  ]);
};

const numberOf = (value: string | number): number =>
  typeof value === 'string' ? STRING : Number.isInteger(value) ? UINT32 : FLOAT32;

const encoded = (value: string | number): Uint8Array => {
  if (typeof value === 'string') return text(value);
  return Number.isInteger(value) ? u32(value) : new Uint8Array(Float32Array.of(value).buffer);
};

const text = (value: string): Uint8Array => {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
};
const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;
const padded = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([bytes, new Uint8Array(aligned(bytes.length) - bytes.length)]);
