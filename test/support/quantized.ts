import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ELEMENT_BYTES } from '#src/checkpoint/elements.js';
import type { PackedFormat, PackedRows } from '#src/checkpoint/packed.js';
import { findQuantized } from '#src/checkpoint/quantized/find.js';
import { parseQuantization } from '#src/checkpoint/quantized/quantization-settings.js';
import { convertedQuantized } from '#src/checkpoint/quantized/quantized-unpack.js';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { parseHeader, parseHeaderLength } from '#src/checkpoint/safetensors-header.js';
import { ModelError } from '#src/files/file-errors.js';
import { filesOf, fixture } from './graphs.js';

/** Made by `make.py`: what the formats' own tools dequantise, and float64 values of `transformers` with it. */
export const QUANTIZED = z
  .record(
    z.string(),
    z.object({
      base: z.string(),
      config: z.record(z.string(), z.unknown()),
      digests: z.record(z.string(), z.string()),
      ids: z.array(z.number()),
      logprobs: z.array(z.number()),
    }),
  )
  .parse(JSON.parse(readFileSync('test/fixtures/quantized/golden.json', 'utf8')));

export interface TensorPart {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

export type TensorParts = Record<string, TensorPart>;

/** The tensors of a safetensors file, to be changed. */
export function tensorParts(bytes: Uint8Array): TensorParts {
  const length = parseHeaderLength(bytes.subarray(0, 8), bytes.length, 'x');
  const entries = parseHeader(bytes.subarray(8, 8 + length), bytes.length, length, 'x');
  return Object.fromEntries(
    entries.map(({ name, dtype, shape, offset, byteLength }) => [
      name,
      { dtype, shape, data: Uint8Array.from(bytes.subarray(offset, offset + byteLength)) },
    ]),
  );
}

export function encodeParts(parts: TensorParts): Uint8Array {
  let end = 0;
  const entries = Object.entries(parts).map(([name, { dtype, shape, data }]) => {
    const begin = end;
    end += data.length;
    return [name, { dtype, shape, data_offsets: [begin, end] }] as const;
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, ...Object.values(parts).map(({ data }) => data)]);
}

/** The tensors that are quantised in a fixture. */
export const quantizedParts = async (name: string): Promise<TensorParts> =>
  tensorParts(await readFile(`test/fixtures/quantized/${name}.safetensors`));

/** The files of a quantised checkpoint in two shards, to be changed and written with `folder`. */
export async function quantizedFiles(name: string): Promise<Record<string, Uint8Array | string>> {
  const { base, config, digests } = QUANTIZED[name]!;
  const files = await filesOf(fixture(base));
  const shards = Object.entries(files).filter(([file]) => file.endsWith('.safetensors'));
  const all = Object.assign({}, ...shards.map(([, bytes]) => tensorParts(bytes)));
  const plain: TensorParts = Object.fromEntries(
    Object.entries<TensorPart>(all).filter(([tensor]) => !(tensor in digests)),
  );
  const quantized = await quantizedParts(name);
  const [first, second] = ['plain.safetensors', 'quantized.safetensors'] as const;
  const weightMap = Object.fromEntries([
    ...Object.keys(plain).map((tensor) => [tensor, first]),
    ...Object.keys(quantized).map((tensor) => [tensor, second]),
  ]);
  const others = Object.entries(files).filter(([file]) => !file.includes('.safetensors'));
  return {
    ...Object.fromEntries(others),
    'config.json': JSON.stringify({
      ...JSON.parse(Buffer.from(files['config.json']!).toString()),
      quantization_config: config,
    }),
    'model.safetensors.index.json': JSON.stringify({ weight_map: weightMap }),
    [first]: encodeParts(plain),
    [second]: encodeParts(quantized),
  };
}

/** The module whose matrix of [32, 64] tests change. */
export const STEM = 'model.layers.1.mlp.down_proj';

export const parseSettings = (json: unknown) =>
  parseQuantization(json, 'config.json', (field, problem) => {
    throw new ModelError('config.json', field, problem);
  });

/** Finds and converts that matrix of a folder; `count` is how many values it has then. */
export async function unpackMatrix(
  dir: string,
  config: unknown,
  shape: readonly [number, number] = [32, 64],
) {
  const quantization = parseSettings(config)!;
  const matrices = new Map([[`${STEM}.weight`, shape]]);
  const found = findQuantized(quantization, matrices, await readSafetensors(dir), dir);
  let count = 0;
  for (const weight of found) {
    const { format, chunks } = convertedQuantized(weight);
    for await (const rows of chunks()) count += valuesOf(format, rows);
  }
  return { found, count };
}

/** How many values the scales of some rows are for. */
const valuesOf = ({ type, block, group }: PackedFormat, { scale_units: units }: PackedRows): number =>
  units ? (units.length / ELEMENT_BYTES[type]) * group * block : 0;
