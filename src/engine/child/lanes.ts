import { standardNormals } from '../../model/noise.js';
import { KvCache } from '../kv-cache.js';
import type { LaneOptions } from '../protocol.js';
import { floats } from '../session.js';
import { scoredFeeds, type Window } from './score-pass.js';
import type { Sessions } from './sessions.js';
import { cacheNames, count, type Runtime, runTexts } from './text-run.js';

/** Rows of one run, of all its lanes. */
const MAX_ROWS = 256;

interface Lane {
  readonly index: number;
  /** Keys and values, or with derivatives their tangents. */
  readonly cache: KvCache;
}

/**
 * Copies of one text whose embeddings are perturbed, each in its own way. The noise of a position never changes, and
 * every lane has its own KV cache: so lanes grow with the text, and a streamed value equals that of the finished text.
 */
export class Lanes {
  readonly #options: LaneOptions;
  readonly #runtime: Runtime;
  readonly #sessions: Pick<Sessions, 'get' | 'batchSize'>;
  readonly #lanes: readonly Lane[];

  constructor(
    options: LaneOptions,
    {
      runtime,
      sessions,
      limit,
    }: { runtime: Runtime; sessions: Pick<Sessions, 'get' | 'batchSize'>; limit: number },
  ) {
    this.#options = options;
    this.#runtime = runtime;
    this.#sessions = sessions;
    this.#lanes = count(0, options.samples).map((index) => ({
      index,
      cache: new KvCache(runtime.config, limit),
    }));
  }

  /** Derivatives read the keys and values of the text itself. */
  get needsClean(): boolean {
    return this.#options.form === 'derivative';
  }

  /** Forgets what lies behind the first `length` positions. */
  cut(length: number): void {
    for (const { cache } of this.#lanes) cache.length = Math.min(cache.length, length);
  }

  /**
   * Brings the lanes up to the end of a text, run by run: lanes that are equally far go together.
   * @param clean cache of the text itself; derivatives need it to hold all but the last token
   * @returns per token from `from` on, what each lane says: log P(token), or its derivative along the noise
   */
  *advance(ids: readonly number[], from: number, clean: KvCache): Generator<() => Promise<void>, number[][]> {
    const values = ids.slice(from).map(() => Array<number>(this.#lanes.length).fill(Number.NaN));
    const last = ids.length - 1;
    for (;;) {
      const start = Math.min(...this.#lanes.map(({ cache }) => cache.length));
      if (start >= last) return values;
      const waiting = this.#lanes.filter(({ cache }) => cache.length === start);
      const derivative = this.needsClean;
      const lanes = waiting.slice(0, derivative ? 1 : this.#sessions.batchSize(waiting.length));
      const end = Math.min(last, start + Math.floor(MAX_ROWS / lanes.length));
      yield async () => {
        // Rows whose next token is not asked for are scored too: onnxruntime cannot score none.
        const targets = ids.slice(Math.min(Math.max(start + 1, from), end), end + 1);
        const rows = { start, ids: ids.slice(start, end), targets };
        const results = derivative
          ? [await this.#derive(lanes[0]!, { ...rows, cache: clean })]
          : await this.#perturb(lanes, rows);
        for (const [i, { index }] of lanes.entries()) {
          for (const [k, value] of results[i]!.entries()) {
            const token = end + 1 - targets.length + k - from;
            if (token >= 0) values[token]![index] = value;
          }
        }
      };
    }
  }

  async #perturb(lanes: readonly Lane[], rows: Omit<Window, 'cache'>): Promise<Float32Array[]> {
    const spec = { kind: 'forward', texts: lanes.length, result: 'logprob', noise: true } as const;
    const session = await this.#sessions.get(spec);
    const windows = lanes.map(({ cache }) => ({ ...rows, cache }));
    const feeds = { ...scoredFeeds(windows), noise: this.#noise(lanes, rows) };
    const logprob = (await runTexts(session, this.#runtime, windows, feeds, ['logprob'])).floats('logprob');
    const size = rows.targets.length;
    return lanes.map((_, i) => logprob.subarray(i * size, (i + 1) * size));
  }

  async #derive(lane: Lane, window: Window): Promise<Float32Array> {
    const session = await this.#sessions.get({ kind: 'tangent' });
    const { start, ids } = window;
    const { layers } = this.#runtime.config;
    lane.cache.reserve(start + ids.length);
    const tensors = lane.cache.tensors();
    const tangents = cacheNames('tangent_', 0, layers).map((name, i) => [name, tensors[i]!] as const);
    const feeds = {
      ...scoredFeeds([window]),
      noise: this.#noise([lane], window),
      ...Object.fromEntries(tangents),
    };
    const changes = cacheNames('window_tangent_', 0, layers);
    const result = await runTexts(session, this.#runtime, [window], feeds, ['derivative', ...changes]);
    lane.cache.write(
      start,
      ids.length,
      changes.map((name) => result.floats(name)),
    );
    return result.floats('derivative');
  }

  /** `[lanes · rows, hidden]` */
  #noise(lanes: readonly Lane[], { start, ids }: Omit<Window, 'cache'>) {
    const { hiddenSize } = this.#runtime.config;
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

function rowOf(noise: LaneOptions['noise'], lane: number, position: number, size: number): Float32Array {
  if ('values' in noise) {
    const start = (lane * noise.positions + position) * size;
    return noise.values.subarray(start, start + size);
  }
  const { seed, sigma } = noise;
  return standardNormals({ seed, lane, position }, size).map((x) => sigma * x);
}
