import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { parseConfig } from '#src/checkpoint/config.js';
import { expectedTensors } from '#src/checkpoint/weights.js';

/** Sizes of a Llama model, by the names that config.json has for them. */
export interface Shape {
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  /** Size of the vocabulary, at least 256, one token for each byte. */
  readonly vocab_size: number;
  readonly max_position_embeddings: number;
}

export const SHAPES = {
  /** 135 M parameters: the sizes of SmolLM2-135M. */
  '135m': {
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    vocab_size: 49152,
    max_position_embeddings: 4096,
  },
  /** 9 M parameters, for machines on which the large one is no pleasure. */
  small: {
    hidden_size: 256,
    intermediate_size: 704,
    num_hidden_layers: 8,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    vocab_size: 8192,
    max_position_embeddings: 4096,
  },
} as const satisfies Record<string, Shape>;

export type WeightType = 'fp32' | 'bf16';

/** Elements that are drawn and written at once: whole rows of blocks. */
export const CHUNK = 1 << 18;

/**
 * Writes a Llama checkpoint of random weights: what it writes means nothing, what it costs is what a trained model
 * of its shape costs. Projections have the standard deviation 1/√inputs and norms are 1, so that activations keep
 * their scale through the layers; the same seed gives the same bytes.
 */
export async function writeRandomCheckpoint(
  folder: string,
  shape: Shape,
  { type, seed }: { readonly type: WeightType; readonly seed: number },
): Promise<void> {
  const config = configOf(shape, type);
  await writeTexts(folder, shape, config);
  const tensors = expectedTensors(parseConfig(config, join(folder, 'config.json')));
  await writeRandomWeights(folder, tensors, { type, seed });
}

/** Contents of config.json for such a model. */
export const configOf = (shape: Shape, type: WeightType) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  ...shape,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
  torch_dtype: type === 'fp32' ? 'float32' : 'bfloat16',
  bos_token_id: 0,
  eos_token_id: 0,
});

/** Writes all files but the weights. */
export async function writeTexts(folder: string, shape: Shape, config: object): Promise<void> {
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(shape.vocab_size)));
}

/** Writes `model.safetensors`, a few hundred kilobytes at a time. Vectors are norms and biases alike: all 1. */
export async function writeRandomWeights(
  folder: string,
  tensors: ReadonlyMap<string, readonly number[]>,
  { type, seed }: { readonly type: WeightType; readonly seed: number },
): Promise<void> {
  const random = xoroshiro128plus(seed);
  await writeTensors(
    folder,
    [...tensors].map(([name, shape]) => plainTensor(random, name, shape, type)),
  );
}

/** A tensor of a file, with its bytes a part at a time. */
export interface DrawnTensor {
  readonly name: string;
  /** Type by its name in safetensors. */
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly parts: () => Iterable<Uint8Array>;
}

export const plainTensor = (
  random: RandomGenerator,
  name: string,
  shape: readonly number[],
  type: WeightType,
): DrawnTensor => ({
  name,
  shape,
  dtype: type === 'fp32' ? 'F32' : 'BF16',
  byteLength: (type === 'fp32' ? 4 : 2) * sizeOf(shape),
  *parts() {
    const inputs = shape.length === 1 ? null : shape[1]!;
    const size = sizeOf(shape);
    for (let done = 0; done < size; done += CHUNK) {
      const values = draw(random, Math.min(CHUNK, size - done), inputs);
      yield new Uint8Array((type === 'fp32' ? values : toBfloat16(values)).buffer);
    }
  },
});

/** Writes `model.safetensors`. */
export async function writeTensors(folder: string, tensors: readonly DrawnTensor[]): Promise<void> {
  let end = 0;
  const entries = tensors.map(({ name, dtype, shape, byteLength }) => {
    const begin = end;
    end += byteLength;
    return [name, { dtype, shape, data_offsets: [begin, end] }] as const;
  });
  const json = JSON.stringify(Object.fromEntries(entries));
  // Padded with spaces so that the data are aligned, as the reference implementation does.
  const header = Buffer.from(json.padEnd(8 * Math.ceil(json.length / 8)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));

  const file = await open(join(folder, 'model.safetensors'), 'w');
  try {
    await file.writeFile(Buffer.concat([length, header]));
    for (const { parts } of tensors) for (const part of parts()) await file.writeFile(part);
  } finally {
    await file.close();
  }
}

/** @param inputs of a projection; `null` for a vector */
export function draw(random: RandomGenerator, count: number, inputs: number | null): Float32Array {
  const values = new Float32Array(count);
  if (inputs === null) return values.fill(1);
  // Uniform between ±√3·σ. The generator gives whole numbers between ±2³¹.
  const scale = Math.sqrt(3 / inputs) / 2 ** 31;
  for (let i = 0; i < count; i++) values[i] = scale * random.next();
  return values;
}

/** The upper half of each float; cut off, not rounded, which these weights do not need. */
function toBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer);
  const halves = new Uint16Array(bits.length);
  for (let i = 0; i < bits.length; i++) halves[i] = bits[i]! >>> 16;
  return halves;
}

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);

/** A byte-level vocabulary: the bytes, then pairs of them. */
export function byteTokens(size: number): string[] {
  if (size < 256) throw new RangeError('vocab_size: must be at least 256');
  // 256 letters and symbols, one of them the space of GPT-2's alphabet; which byte each is does not matter.
  const printable = Array.from({ length: 94 }, (_, i) => String.fromCodePoint(0x21 + i));
  const others = Array.from({ length: 256 - printable.length }, (_, i) => String.fromCodePoint(0x100 + i));
  const bytes = [...printable, ...others];
  const token = (id: number): string =>
    id < 256 ? bytes[id]! : bytes[Math.floor(id / 256) - 1]! + bytes[id % 256]!;
  return Array.from({ length: size }, (_, id) => token(id));
}

/** Tokenizer without merges: every text becomes bytes. */
function byteTokenizer(size: number) {
  const vocab = Object.fromEntries(byteTokens(size).map((token, id) => [token, id]));
  return {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: [] },
  };
}
