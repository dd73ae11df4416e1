import { standardNormals } from '../../numerics/noise.js';
import type { NoiseOptions } from '../engine-messages.js';
import type { KvCache } from '../kv-cache.js';
import { floats } from '../ort-session.js';
import { type ReplicaContext, type Replicas, replicaCaches, replicaEnd, replicaTargets } from './replicas.js';
import { scoredFeeds, type Window } from './score-pass.js';
import { count, runSequences } from './sequence-run.js';

interface Replica {
  readonly index: number;
  readonly cache: KvCache;
}

/** Replicas whose embeddings are perturbed, each in its own way. */
export class NoiseReplicas implements Replicas {
  readonly #options: NoiseOptions;
  readonly #context: ReplicaContext;
  readonly #replicas: readonly Replica[];
  readonly #normals: typeof standardNormals;

  /** @param normals draws from N(0, 1) */
  constructor(
    options: NoiseOptions,
    context: ReplicaContext,
    caches: readonly KvCache[] = replicaCaches(options.samples, context),
    normals = standardNormals,
  ) {
    this.#normals = normals;
    this.#options = options;
    this.#context = context;
    this.#replicas = caches.map((cache, index) => ({ index, cache }));
  }

  fork(length: number): NoiseReplicas {
    const caches = this.#replicas.map(({ cache }) => cache.fork(length));
    return new NoiseReplicas(this.#options, this.#context, caches, this.#normals);
  }

  cut(length: number): void {
    for (const { cache } of this.#replicas) cache.length = Math.min(cache.length, length);
  }

  /** @returns per token, log P(token) of each replica */
  *advance(ids: readonly number[], from: number): Generator<() => Promise<void>, number[][]> {
    const values = ids.slice(from).map(() => Array<number>(this.#replicas.length).fill(Number.NaN));
    const last = ids.length - 1;
    for (;;) {
      const start = Math.min(...this.#replicas.map(({ cache }) => cache.length));
      if (start >= last) return values;
      const waiting = this.#replicas.filter(({ cache }) => cache.length === start);
      const replicas = waiting.slice(0, this.#context.sessions.batchSize(waiting.length));
      const end = replicaEnd(this.#context, { start, from, last }, replicas.length);
      yield async () => {
        const targets = replicaTargets(ids, start, end, from);
        const results = await this.#perturb(replicas, { start, ids: ids.slice(start, end), targets });
        const first = end + 1 - targets.length - from;
        for (const [i, { index }] of replicas.entries()) {
          for (const [k, value] of results[i]!.entries())
            if (first + k >= 0) values[first + k]![index] = value;
        }
      };
    }
  }

  async #perturb(replicas: readonly Replica[], rows: Omit<Window, 'cache'>): Promise<Float32Array[]> {
    const spec = { kind: 'forward', sequences: replicas.length, result: 'logprob', noise: true } as const;
    const session = await this.#context.sessions.get(spec);
    const windows = replicas.map(({ cache }) => ({ ...rows, cache }));
    const feeds = { ...scoredFeeds(windows), noise: this.#noise(replicas, rows) };
    const logprob = (await runSequences(session, this.#context.runtime, windows, feeds, ['logprob'])).floats(
      'logprob',
    );
    const size = rows.targets.length;
    return replicas.map((_, i) => logprob.subarray(i * size, (i + 1) * size));
  }

  /** `[replicas · rows, hidden]` */
  #noise(replicas: readonly Replica[], { start, ids }: Omit<Window, 'cache'>) {
    const { hiddenSize } = this.#context.runtime.config;
    const { sigma, seed } = this.#options;
    const data = new Float32Array(replicas.length * ids.length * hiddenSize);
    let at = 0;
    for (const { index } of replicas) {
      for (const position of count(start, ids.length)) {
        const normals = this.#normals({ seed, replica: index, position }, hiddenSize);
        data.set(
          normals.map((x) => sigma * x),
          at,
        );
        at += hiddenSize;
      }
    }
    return floats(data, [replicas.length * ids.length, hiddenSize]);
  }
}
