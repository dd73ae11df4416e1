import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelError, show, unreadable } from '../files/file-errors.js';
import { isMissing, readOptionalJson } from '../files/json.js';
import { parseWeightMap } from '../files/weight-map.js';
import type { StoredType } from './elements.js';
import { readAt, withFile } from './read-file.js';
import { type HeaderEntry, PREFIX, parseHeader, parseHeaderLength } from './safetensors-header.js';

export interface StoredTensor {
  readonly name: string;
  readonly type: StoredType;
  readonly shape: readonly number[];
  /** The file itself, never a symbolic link: onnxruntime refuses links, and the Hugging Face cache is made of them. */
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** A tensor of any type: the type is null if no weight can have it (an int64 buffer, say). */
export interface FileTensor extends Omit<StoredTensor, 'type'>, Pick<HeaderEntry, 'dtype' | 'type'> {}

export type TensorIndex = ReadonlyMap<string, FileTensor>;

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
/** Tensors of all shards together. The largest mixtures of experts have about 100,000. */
const MAX_TENSORS = 2 ** 17;

/**
 * Finds the weights of a checkpoint: `model.safetensors`, or else the shards of `model.safetensors.index.json`.
 * Reads headers only, never weights.
 *
 * @throws ModelError naming file and field
 */
export async function readSafetensors(dir: string): Promise<TensorIndex> {
  const single = await readHeader(dir, SINGLE);
  if (single) return indexOf([single]);

  const file = join(dir, INDEX);
  const json = await readOptionalJson(dir, INDEX);
  if (json === undefined) throw new ModelError(dir, '', `contains neither ${SINGLE} nor ${INDEX}`);
  const weightMap = parseWeightMap(json, file);
  const shards: Shard[] = [];
  let count = 0;
  for (const name of new Set(weightMap.values())) {
    const shard = await readHeader(dir, name);
    if (!shard) throw new ModelError(file, 'weight_map', `names ${show(name)}, which does not exist`);
    count += shard.entries.length;
    if (count > MAX_TENSORS)
      throw new ModelError(file, 'weight_map', `names files of more than ${MAX_TENSORS} tensors`);
    shards.push(shard);
  }
  const present = new Map(
    shards.map(({ name, entries }) => [name, new Set(entries.map((entry) => entry.name))]),
  );
  for (const [tensor, shard] of weightMap) {
    if (!present.get(shard)?.has(tensor)) {
      throw new ModelError(file, `weight_map.${tensor}`, `${show(shard)} does not contain this tensor`);
    }
  }
  return indexOf(shards);
}

interface Shard {
  /** Name in the folder of the checkpoint. */
  readonly name: string;
  /** Path as the user knows it, for messages. */
  readonly file: string;
  /** Behind all links. */
  readonly path: string;
  readonly entries: readonly HeaderEntry[];
}

/** The header of one file; `undefined` where the file is missing. */
async function readHeader(dir: string, name: string): Promise<Shard | undefined> {
  const file = join(dir, name);
  try {
    const path = await realpath(file);
    const info = await stat(path);
    // Asked before opening: to open a pipe would wait for its writer.
    if (!info.isFile()) throw new ModelError(file, '', 'is not a file');
    const entries = await withFile(path, async (handle) => {
      const length = parseHeaderLength(await readAt(handle, 0, PREFIX), info.size, file);
      return parseHeader(await readAt(handle, PREFIX, length), info.size, length, file);
    });
    return { name, file, path, entries };
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw unreadable(file, cause);
  }
}

function indexOf(shards: readonly Shard[]): TensorIndex {
  const tensors = new Map<string, FileTensor>();
  for (const { entries, file, path } of shards) {
    for (const entry of entries) {
      if (tensors.has(entry.name)) throw new ModelError(file, entry.name, 'is also in another shard');
      tensors.set(entry.name, { ...entry, file: path });
    }
  }
  return tensors;
}
