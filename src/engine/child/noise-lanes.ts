import { standardNormals } from '../../model/noise.js';
import type { KvCache } from '../kv-cache.js';
import type { NoiseOptions } from '../protocol.js';
import { floats } from '../session.js';
import { type LaneContext, type Lanes, laneCaches, laneEnd, laneTargets } from './lanes.js';
import { scoredFeeds, type Window } from './score-pass.js';
import { cacheNames, count, runTexts } from './text-run.js';

interface Lane {
  readonly index: number;
  /** Keys and values, or with derivatives their tangents. */
  readonly cache: KvCache;
}

/** Lanes whose embeddings are perturbed, each in its own way. */
export class NoiseLanes implements Lanes {
  readonly needsClean: boolean;
  readonly #options: NoiseOptions;
  readonly #context: LaneContext;
  readonly #lanes: readonly Lane[];

  constructor(
    options: NoiseOptions,
    context: LaneContext,
    caches: readonly KvCache[] = laneCaches(options.samples, context),
  ) {
    this.needsClean = options.form === 'derivative';
    this.#options = options;
    this.#context = context;
    this.#lanes = caches.map((cache, index) => ({ index, cache }));
  }

  fork(length: number): NoiseLanes {
    const caches = this.#lanes.map(({ cache }) => cache.fork(length));
    return new NoiseLanes(this.#options, this.#context, caches);
  }

  cut(length: number): void {
    for (const { cache } of this.#lanes) cache.length = Math.min(cache.length, length);
  }

  /** @returns per token, what each lane says: log P(token), or its derivative along the noise */
  *advance(ids: readonly number[], from: number, clean: KvCache): Generator<() => Promise<void>, number[][]> {
    const values = ids.slice(from).map(() => Array<number>(this.#lanes.length).fill(Number.NaN));
    const last = ids.length - 1;
    for (;;) {
      const start = Math.min(...this.#lanes.map(({ cache }) => cache.length));
      if (start >= last) return values;
      const waiting = this.#lanes.filter(({ cache }) => cache.length === start);
      const lanes = waiting.slice(0, this.needsClean ? 1 : this.#context.sessions.batchSize(waiting.length));
      const end = laneEnd(this.#context, { start, from, last }, lanes.length);
      yield async () => {
        const targets = laneTargets(ids, start, end, from);
        const part = { start, ids: ids.slice(start, end), targets };
        const results = this.needsClean
          ? [await this.#derive(lanes[0]!, { ...part, cache: clean })]
          : await this.#perturb(lanes, part);
        const first = end + 1 - targets.length - from;
        for (const [i, { index }] of lanes.entries()) {
          for (const [k, value] of results[i]!.entries())
            if (first + k >= 0) values[first + k]![index] = value;
        }
      };
    }
  }

  async #perturb(lanes: readonly Lane[], rows: Omit<Window, 'cache'>): Promise<Float32Array[]> {
    const spec = { kind: 'forward', texts: lanes.length, result: 'logprob', noise: true } as const;
    const session = await this.#context.sessions.get(spec);
    const windows = lanes.map(({ cache }) => ({ ...rows, cache }));
    const feeds = { ...scoredFeeds(windows), noise: this.#noise(lanes, rows) };
    const logprob = (await runTexts(session, this.#context.runtime, windows, feeds, ['logprob'])).floats(
      'logprob',
    );
    const size = rows.targets.length;
    return lanes.map((_, i) => logprob.subarray(i * size, (i + 1) * size));
  }

  async #derive(lane: Lane, window: Window): Promise<Float32Array> {
    const session = await this.#context.sessions.get({ kind: 'tangent', rival: false });
    const { start, ids } = window;
    const { layers } = this.#context.runtime.config;
    lane.cache.reserve(start + ids.length);
    const tensors = lane.cache.tensors();
    const tangents = cacheNames('tangent_', 0, layers).map((name, i) => [name, tensors[i]!] as const);
    const feeds = {
      ...scoredFeeds([window]),
      noise: this.#noise([lane], window),
      ...Object.fromEntries(tangents),
    };
    const changes = cacheNames('window_tangent_', 0, layers);
    const result = await runTexts(session, this.#context.runtime, [window], feeds, [
      'derivative',
      ...changes,
    ]);
    lane.cache.write(
      start,
      ids.length,
      changes.map((name) => result.floats(name)),
    );
    return result.floats('derivative');
  }

  /** `[lanes · rows, hidden]` */
  #noise(lanes: readonly Lane[], { start, ids }: Omit<Window, 'cache'>) {
    const { hiddenSize } = this.#context.runtime.config;
    const { noise } = this.#options;
    const data = new Float32Array(lanes.length * ids.length * hiddenSize);
    let at = 0;
    for (const { index } of lanes) {
      for (const position of count(start, ids.length)) {
        data.set(rowOf(noise, index, position, hiddenSize), at);
        at += hiddenSize;
      }
    }
    return floats(data, [lanes.length * ids.length, hiddenSize]);
  }
}

function rowOf(noise: NoiseOptions['noise'], lane: number, position: number, size: number): Float32Array {
  if ('values' in noise) {
    if (position >= noise.positions) {
      throw new RangeError(`noise: holds ${noise.positions} positions, and the text has more`);
    }
    const start = (lane * noise.positions + position) * size;
    return noise.values.subarray(start, start + size);
  }
  const { seed, sigma } = noise;
  return standardNormals({ seed, lane, position }, size).map((x) => sigma * x);
}
