import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { ggufType } from '#src/checkpoint/gguf/gguf-types.js';
import { type GgufHeader, parseGguf } from '#src/checkpoint/gguf/header.js';
import { ggufContents } from '#src/checkpoint/gguf/open-gguf.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { orRefuse } from './mutations.js';

export const GGUF_FIXTURES = ['tiny-llama', 'tiny-qwen2', 'pieces'] as const;

export const ggufFile = (name: string): string => `test/fixtures/gguf/${name}.gguf`;

/** A GGUF file in parts that can be changed. */
export interface GgufParts {
  readonly metadata: Record<string, unknown>;
  readonly tensors: Record<string, TensorPart>;
}

interface TensorPart {
  readonly dims: readonly number[];
  readonly type: number;
  readonly data: Uint8Array;
}

const TYPE_IDS = new Map(Array.from({ length: 64 }, (_, id) => [ggufType(id).name, id]));

export function readHeader(bytes: Uint8Array): GgufHeader {
  const header = parseGguf(bytes, bytes.length, 'x.gguf');
  if (!header) throw new Error('the header is not whole');
  return header;
}

export function ggufParts(file: string): GgufParts {
  const bytes = readFileSync(file);
  const { metadata, tensors } = readHeader(bytes);
  const parts = [...tensors].map(([name, { dims, type, offset, byteLength }]) => {
    const data = Uint8Array.from(bytes.subarray(offset, offset + (byteLength ?? 0)));
    return [name, { dims, type: TYPE_IDS.get(type.name)!, data }] as const;
  });
  return { metadata: Object.fromEntries(metadata), tensors: Object.fromEntries(parts) };
}

/** A value that the format does not have (an object, an array in an array) becomes the string `x`. */
export function encodeGguf({ metadata, tensors }: GgufParts): Uint8Array {
  const entries = Object.entries(metadata).map(([key, value]) => Buffer.concat([text(key), typed(value)]));
  let end = 0;
  const infos = Object.entries(tensors).map(([name, { dims, type, data }]) => {
    const info = [text(name), u32(dims.length), ...dims.map(u64), u32(type), u64(end)];
    end += aligned(data.length);
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    ...[Buffer.from('GGUF'), u32(3), u64(infos.length), u64(entries.length)],
    ...[...entries, ...infos],
  ]);
  const data = Object.values(tensors).map((tensor) => padded(tensor.data));
  return Buffer.concat([padded(head), ...data]);
}

const aligned = (length: number): number => Math.ceil(length / 32) * 32;
const padded = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([bytes, new Uint8Array(aligned(bytes.length) - bytes.length)]);

const typed = (value: unknown): Uint8Array => {
  const type = typeOf(value);
  return Buffer.concat([u32(type), encoded(type, value)]);
};

function typeOf(value: unknown): number {
  if (typeof value === 'boolean') return 7;
  if (Array.isArray(value)) return 9;
  if (typeof value !== 'number') return 8;
  return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? 5 : 12;
}

function encoded(type: number, value: unknown): Uint8Array {
  if (type === 7) return Uint8Array.of(value === true ? 1 : 0);
  if (type === 5) return new Uint8Array(Int32Array.of(Number(value)).buffer);
  if (type === 12) return new Uint8Array(Float64Array.of(Number(value)).buffer);
  if (type !== 9 || !Array.isArray(value)) return text(typeof value === 'string' ? value : 'x');
  const types = new Set(value.map(typeOf));
  const [first = 5] = types;
  const only = first === 9 ? 8 : first;
  const common = types.size <= 1 ? only : [...types].every((type) => type === 5 || type === 12) ? 12 : 8;
  return Buffer.concat([u32(common), u64(value.length), ...value.map((each) => encoded(common, each))]);
}

const text = (value: string): Uint8Array => {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
};
const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number | bigint): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);

/** Everything that is checked before weights are unpacked. */
export function readGgufFile(bytes: Uint8Array, file: string) {
  const header = parseGguf(bytes, bytes.length, file);
  if (!header) throw new Error('asks for more than the whole file');
  const rope = header.tensors.get('rope_freqs.weight');
  const factors =
    rope?.byteLength === 32 * 4 ? new Float32Array(bytes.slice(rope.offset, rope.offset + 32).buffer) : null;
  return { header, ...ggufContents(header, factors, file) };
}

/** Whatever a file holds, it is read, or refused by a ModelError that names file and field. */
export function checkGgufFile(bytes: Uint8Array, file: string): void {
  const result = orRefuse(file, () => readGgufFile(bytes, file));
  if (!result) return;
  const { header, config, weights, tokenizer } = result;
  expect(weights.map(({ name }) => name)).toEqual([...expectedTensors(config).keys()]);
  for (const { tensor } of weights) {
    expect(tensor.offset).toBeGreaterThanOrEqual(header.byteLength - 31);
    expect(tensor.offset + tensor.byteLength!).toBeLessThanOrEqual(bytes.length);
  }
  const ids = [...config.eosTokenIds, ...tokenizer.encode('hello 12\n€ <|im_end|>')];
  expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < config.vocabSize)).toBe(true);
}
