import type { ModelConfig } from '../../model/config.js';
import type { RotaryEmbedding } from '../../model/rope.js';
import type { KvCache } from '../kv-cache.js';
import { type Feeds, type Fetches, floats, ints, longs, type Session } from '../session.js';

/** One text's share of a run: tokens `start` to `start + ids.length − 1`, against what its cache holds before. */
export interface TextRows {
  readonly cache: KvCache;
  readonly start: number;
  readonly ids: readonly number[];
}

/** What a model's runs need beside its sessions. */
export interface Runtime {
  readonly config: ModelConfig;
  readonly rotary: RotaryEmbedding;
}

export class RunResult {
  readonly #outputs: Awaited<ReturnType<Session['run']>>;

  constructor(outputs: Awaited<ReturnType<Session['run']>>) {
    this.#outputs = outputs;
  }

  floats(name: string): Float32Array {
    const data = this.#outputs[name]?.data;
    if (!(data instanceof Float32Array)) throw new Error(`the graph returned no ${name}`);
    return data;
  }

  ids(name: string): number[] {
    const data = this.#outputs[name]?.data;
    if (!(data instanceof BigInt64Array)) throw new Error(`the graph returned no ${name}`);
    return Array.from(data, Number);
  }
}

/**
 * Runs a graph over the rows of several texts: the inputs of `declareTexts` and `fusedAttention`, with every cache
 * written in place, and whatever else the graph takes.
 * @param outputs names of the outputs that are wanted, beside the caches
 */
export async function runTexts(
  session: Session,
  { config, rotary }: Runtime,
  texts: readonly TextRows[],
  more: Feeds,
  outputs: readonly string[],
): Promise<RunResult> {
  const positions = texts.flatMap(({ start, ids }) => ids.map((_, i) => start + i));
  const { cos, sin } = rotary.angles(positions);
  const angles = [1, positions.length, config.headDim / 2];
  const feeds: Record<string, Feeds[string]> = {
    ...more,
    cos: floats(cos, angles),
    sin: floats(sin, angles),
  };
  const fetches: Record<string, Fetches[string]> = Object.fromEntries(outputs.map((name) => [name, null]));
  for (const [t, { cache, start, ids }] of texts.entries()) {
    const total = start + ids.length;
    cache.length = start; // what follows is overwritten
    cache.reserve(total);
    feeds[`ids.${t}`] = longs(ids, [ids.length]);
    feeds[`last_key.${t}`] = ints([total - 1], [1]);
    feeds[`total_length.${t}`] = ints([total], []);
    for (const [i, tensor] of cache.tensors().entries()) {
      const name = `${i % 2 === 0 ? 'key' : 'value'}.${t}.${i >> 1}`;
      feeds[name] = tensor;
      fetches[`present_${name}`] = tensor;
    }
  }
  return new RunResult(await session.run(feeds, fetches));
}
