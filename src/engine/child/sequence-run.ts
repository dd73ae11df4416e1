import type * as ort from 'onnxruntime-node';
import type { ModelSource } from '../../graphs/decoder.js';
import { RotaryEmbedding } from '../../graphs/rope.js';
import type { Backend } from '../device.js';
import type { KvCache, Past } from '../kv-cache.js';
import { type Feeds, type Fetches, floats, type GraphRunner, longs } from '../ort-session.js';
import type { Machine } from '../run-limits.js';

/** One sequence's share of a run: tokens `start` to `start + ids.length − 1`, against what its cache holds before. */
export interface SequenceRows {
  readonly cache: KvCache;
  readonly start: number;
  readonly ids: readonly number[];
  /** How many positions before `start` are part of the same window, where a graph takes both past and inner keys. */
  readonly inner?: number;
}

/** A graph that may have keys and values where it runs. */
export interface SequenceRunner extends GraphRunner {
  /** Inputs of each sequence in place of {@link KvCache.past}, which is the default. */
  past?(sequences: readonly Past[]): Promise<readonly (readonly ort.Tensor[])[]>;
}

/** Inputs of a model's runs beside its sessions. */
export interface Runtime extends Machine {
  /** One for each rope of the configuration. */
  readonly rotary: readonly RotaryEmbedding[];
}

export function runtimeOf({
  source: { config },
  threads,
  device,
}: {
  readonly source: ModelSource;
  readonly threads: number;
  readonly device?: Backend;
}): Runtime {
  const rotary = config.ropes.map((rope) => new RotaryEmbedding(rope));
  return { config, rotary, threads, ...(device && { device }) };
}

export class RunResult {
  readonly #outputs: Awaited<ReturnType<GraphRunner['run']>>;

  constructor(outputs: Awaited<ReturnType<GraphRunner['run']>>) {
    this.#outputs = outputs;
  }

  floats(name: string): Float32Array {
    const data = this.#outputs[name]?.data;
    if (!(data instanceof Float32Array)) throw new Error(`the graph returned no ${name}`);
    return data;
  }

  tensor(name: string): ort.Tensor {
    const tensor = this.#outputs[name];
    if (!tensor) throw new Error(`the graph returned no ${name}`);
    return tensor;
  }

  ids(name: string): number[] {
    const data = this.#outputs[name]?.data;
    if (!(data instanceof BigInt64Array)) throw new Error(`the graph returned no ${name}`);
    return Array.from(data, Number);
  }
}

/**
 * Runs a graph over the rows of several sequences. Afterwards the caches hold their clean keys and values, and no more.
 * @param more inputs that are not those of the sequences
 * @param outputs names of the outputs that are wanted
 */
export async function runSequences(
  session: SequenceRunner,
  { config, rotary }: Runtime,
  sequences: readonly SequenceRows[],
  more: Feeds,
  outputs: readonly string[],
): Promise<RunResult> {
  const takes = new Set(session.inputNames);
  const gives = new Set(session.outputNames);
  const positions = sequences.map(({ start, ids }) => count(start, ids.length));
  const feeds: Record<string, Feeds[string]> = { ...more };
  for (const [r, rope] of rotary.entries()) {
    const { cos, sin } = rope.angles(positions.flat());
    const dims = [1, positions.flat().length, config.ropes[r]!.dimensions / 2];
    feeds[`cos.${r}`] = floats(cos, dims);
    feeds[`sin.${r}`] = floats(sin, dims);
  }
  const fetches: Record<string, Fetches[string]> = Object.fromEntries(outputs.map((name) => [name, null]));
  const windows = sequences.map((_, t) =>
    cacheNames('window_', t, config.layers).filter((name) => gives.has(name)),
  );

  const pasts = sequences.map(({ cache, start, ids, inner = 0 }, t) => {
    cache.length = start; // what follows is overwritten
    cache.reserve(start + ids.length);
    return { cache, count: takes.has(`past_positions.${t}`) ? start - inner : 0 };
  });
  const tensors = (await session.past?.(pasts)) ?? pasts.map((past) => past.cache.past(past.count));

  for (const [t, { cache, start, ids }] of sequences.entries()) {
    feeds[`ids.${t}`] = longs(ids, [ids.length]);
    feeds[`positions.${t}`] = longs(positions[t]!, [ids.length]);
    const past = pasts[t]!.count;
    if (takes.has(`past_positions.${t}`)) {
      Object.assign(feeds, keyFeeds('', t, tensors[t]!));
      feeds[`past_positions.${t}`] = longs(count(0, past), [past]);
    }
    if (takes.has(`inner_positions.${t}`)) {
      Object.assign(feeds, keyFeeds('inner_', t, cache.tensors(past, start - past)));
      feeds[`inner_positions.${t}`] = longs(count(past, start - past), [start - past]);
    }
    for (const name of windows[t]!) fetches[name] = null;
  }

  const result = new RunResult(await session.run(feeds, fetches));
  for (const [t, { cache, start, ids }] of sequences.entries()) {
    cache.length = start + ids.length;
    const parts = windows[t]!.map((name) => result.floats(name));
    if (parts.length > 0) cache.write(start, ids.length, parts);
  }
  return result;
}

/** @param tensors as a cache lists them */
export function keyFeeds(prefix: string, t: number, tensors: readonly ort.Tensor[]): Feeds {
  const names = cacheNames(prefix, t, tensors.length / 2);
  return Object.fromEntries(names.map((name, i) => [name, tensors[i]!]));
}

/** Names of keys and values in turn, layer by layer, as the cache lists its buffers. */
export function cacheNames(prefix: string, t: number, layers: number): string[] {
  return count(0, layers).flatMap((layer) => [`${prefix}key.${t}.${layer}`, `${prefix}value.${t}.${layer}`]);
}

export function count(from: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => from + i);
}
