import { type FileHandle, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError, reasonOf } from '../files/file-errors.js';
import { sizeOf } from '../files/json.js';
import type { StoredType } from './elements.js';
import {
  type FilePlace,
  type PackedFormat,
  type PackedPart,
  type PackedRows,
  packedBytes,
  plannedParts,
} from './packed.js';
import { isWhole, replaceFile, writeAll } from './safetensors-file.js';
import { DTYPES } from './safetensors-header.js';
import { BYTES, type PlannedTensor, planSafetensors, type SafetensorsPlan } from './safetensors-plan.js';
import type { Weight } from './weights.js';

/** Written at once, about. */
export const CHUNK_BYTES = 1 << 24;

/** How far the weights of a model are converted, in bytes that are written. */
export interface Conversion {
  /** The GGUF file, or the folder of a quantised checkpoint. */
  readonly file: string;
  readonly folder: string;
  readonly written: number;
  readonly total: number;
}

export type ConvertedWeight = PlainWeight | PackedWeight;

interface PlainWeight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: StoredType;
  /** Its bytes, some rows at a time. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
}

export interface PackedWeight {
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly type: 'packed';
  readonly format: PackedFormat;
  /** Where its integers lie already, as they are read. */
  readonly integers?: FilePlace | null;
  /** The bytes of its other parts, some rows at a time. */
  readonly chunks: () => AsyncIterable<PackedRows>;
}

export interface ConversionPlan {
  /** Version of the result's format: a file of another format is made again. */
  readonly format: string;
  /** The file that is converted, for messages. */
  readonly file: string;
  readonly folder: string;
  readonly weights: readonly ConvertedWeight[];
  /** Contents of JSON files beside the weights, by name. */
  readonly texts?: Readonly<Record<string, unknown>>;
  readonly onProgress?: ((progress: Conversion) => void) | undefined;
}

const convertedFile = ({ folder }: Pick<ConversionPlan, 'folder'>): string =>
  join(folder, 'model.safetensors');

interface ConversionLayout extends SafetensorsPlan {
  /** The weights where they lie in the file, by name. */
  readonly tensors: ReadonlyMap<string, Weight>;
}

/** Positions of the weights in the converted file. */
export function planConversion(
  plan: Pick<ConversionPlan, 'format' | 'folder' | 'weights'>,
): ConversionLayout {
  const planned = plan.weights.map((weight) => ({ weight, parts: plannedOf(weight) }));
  // Numbers of four bytes have to lie at multiples of four.
  const all = planned.flatMap(({ parts }) => [...parts.values()]);
  const layout = planSafetensors(
    plan.format,
    all.toSorted((a, b) => BYTES[b.dtype] - BYTES[a.dtype]),
  );
  const file = convertedFile(plan);
  const tensors = new Map<string, Weight>();
  for (const { weight, parts } of planned) {
    const { name, shape } = weight;
    const places = [...parts].map(([part, { name }]) => [part, layout.places.get(name)!] as const);
    if (weight.type !== 'packed') {
      tensors.set(name, { name, shape, file, type: weight.type, ...places[0]![1] });
      continue;
    }
    const { format, integers, shape: size } = weight;
    const found = {
      ...(integers && { integers }),
      ...Object.fromEntries(places.map(([part, { offset }]) => [part, { file, offset }])),
    };
    const byteLength = packedBytes(size, format);
    tensors.set(name, { name, shape: size, file, type: 'packed', format, places: found, byteLength });
  }
  return { ...layout, tensors };
}

/** The tensors that a weight becomes; the whole of one that is not packed is its only part. */
function plannedOf(weight: ConvertedWeight): ReadonlyMap<PackedPart, PlannedTensor> {
  const { name, shape, type } = weight;
  if (type !== 'packed') return new Map([['integers', { name, shape, dtype: DTYPES[type] }]]);
  const parts = plannedParts(name, weight.shape, weight.format);
  if (weight.integers) parts.delete('integers');
  return parts;
}

/**
 * Keeps weights as a checkpoint folder in the user's cache folder. What is there and whole is left alone.
 *
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function convert(plan: ConversionPlan): Promise<void> {
  const { folder, texts = {} } = plan;
  const target = convertedFile(plan);
  const layout = planConversion(plan);
  try {
    for (const [name, json] of Object.entries(texts)) {
      const [file, text] = [join(folder, name), `${JSON.stringify(json)}\n`];
      if (!(await holds(file, text))) {
        await replaceFile(file, (to) => writeAll(to, new TextEncoder().encode(text), 0));
      }
    }
    if (!(await isWhole(target, layout))) {
      await replaceFile(target, (to) => writeWeights(to, layout, plan));
    }
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    const problem = `cannot be written (${reasonOf(cause)}): set XDG_CACHE_HOME to a folder with room`;
    throw new ModelError(folder, '', problem, { cause });
  }
}

/** A file of another size is not read. */
const holds = async (file: string, text: string): Promise<boolean> =>
  (await sizeOf(file)) === Buffer.byteLength(text) && (await readFile(file, 'utf8')) === text;

const NOTHING = new Uint8Array();

async function writeWeights(to: FileHandle, layout: SafetensorsPlan, plan: ConversionPlan): Promise<void> {
  const { file, folder, weights, onProgress } = plan;
  await writeAll(to, layout.header, 0);
  let written = layout.header.length;
  for (const weight of weights) {
    const at = new Map(
      [...plannedOf(weight)].map(([part, { name }]) => [part, layout.places.get(name)!.offset]),
    );
    for await (const chunk of weight.chunks()) {
      const rows: PackedRows = chunk instanceof Uint8Array ? { integers: chunk } : chunk;
      for (const [part, offset] of at) {
        const bytes = rows[part] ?? (part === 'order' ? NOTHING : null); // the order of inputs comes once
        if (!bytes) throw new Error(`conversion: ${weight.name} has no ${part}`);
        await writeAll(to, bytes, offset);
        at.set(part, offset + bytes.byteLength);
        written += bytes.byteLength;
      }
      onProgress?.({ file, folder, written, total: layout.byteLength });
    }
  }
}

/** A product with 0 is NaN where a value is not finite. */
export function allFinite(values: Float32Array): boolean {
  let sum = 0;
  for (const value of values) sum += value * 0;
  return sum === 0;
}
