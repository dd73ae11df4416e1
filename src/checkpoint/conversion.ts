import { type FileHandle, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError, reasonOf } from '../files/errors.js';
import { sizeOf } from '../files/size-of.js';
import type { StoredType } from './config.js';
import { ELEMENT_BYTES } from './elements.js';
import { isWhole, planSafetensors, replaceFile, type SafetensorsPlan, writeAll } from './safetensors-file.js';
import { DTYPES } from './safetensors-header.js';

/** Written at once, about. */
export const CHUNK_BYTES = 1 << 24;

/** How far the weights of a model are unpacked, in bytes that are written. */
export interface Conversion {
  /** The GGUF file, or the folder of a quantised checkpoint. */
  readonly file: string;
  /** Folder of the unpacked weights. */
  readonly folder: string;
  readonly written: number;
  readonly total: number;
}

/** A weight that is kept in the user's cache folder. */
export interface ConvertedWeight {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: StoredType;
  /** Its bytes, some rows at a time. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
}

export interface ConversionPlan {
  /** Version of the result's format: a file of another format is made again. */
  readonly format: string;
  /** The file that is converted, for messages. */
  readonly file: string;
  readonly folder: string;
  readonly weights: readonly ConvertedWeight[];
  /** Contents by name, beside the weights. */
  readonly texts: Readonly<Record<string, string>>;
  readonly onProgress?: ((progress: Conversion) => void) | undefined;
}

/** The file of the weights in the folder. */
export const convertedFile = ({ folder }: Pick<ConversionPlan, 'folder'>): string =>
  join(folder, 'model.safetensors');

/** Positions of the weights in the converted file. */
export const planConversion = ({ format, weights }: Pick<ConversionPlan, 'format' | 'weights'>) =>
  planSafetensors(
    format,
    widestFirst(weights).map(({ name, shape, type }) => ({ name, shape, dtype: DTYPES[type] })),
  );

/**
 * Keeps weights as a checkpoint folder in the user's cache folder. What is there and whole is left alone.
 *
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function convert(plan: ConversionPlan): Promise<void> {
  const { folder, texts } = plan;
  const target = convertedFile(plan);
  const layout = planConversion(plan);
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(folder, name);
      if (!(await holds(file, text))) {
        await replaceFile(file, (to) => writeAll(to, new TextEncoder().encode(text), 0));
      }
    }
    if (!(await isWhole(target, layout))) {
      await replaceFile(target, (to) => writeWeights(to, layout, plan));
    }
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError(folder, '', `cannot be written (${reasonOf(cause)})`, { cause });
  }
}

const widestFirst = (weights: readonly ConvertedWeight[]): readonly ConvertedWeight[] =>
  weights.toSorted((a, b) => ELEMENT_BYTES[b.type] - ELEMENT_BYTES[a.type]);

/** A file of another size is not read. */
const holds = async (file: string, text: string): Promise<boolean> =>
  (await sizeOf(file)) === Buffer.byteLength(text) && (await readFile(file, 'utf8')) === text;

async function writeWeights(to: FileHandle, layout: SafetensorsPlan, plan: ConversionPlan): Promise<void> {
  const { file, folder, weights, onProgress } = plan;
  await writeAll(to, layout.header, 0);
  let written = layout.header.length;
  for (const { chunks } of widestFirst(weights)) {
    for await (const bytes of chunks()) {
      await writeAll(to, bytes, written);
      written += bytes.byteLength;
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
