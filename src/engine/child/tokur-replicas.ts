import { type TokurSettings, weightNoise } from '../../numerics/tokur-noise.js';
import type { KvCache } from '../kv-cache.js';
import { type Feeds, floats, longs } from '../ort-session.js';
import { TOKUR_RANK } from './low-rank-basis.js';
import { type ReplicaContext, type Replicas, replicaCaches, replicaEnd, replicaTargets } from './replicas.js';
import { count, runSequences } from './sequence-run.js';

const PROJECTIONS = ['q', 'v'] as const;

/** Replicas whose query and value weights are perturbed; the first is the model as it is. All go through together. */
export class TokurReplicas implements Replicas {
  readonly #settings: TokurSettings;
  readonly #context: ReplicaContext;
  readonly #caches: readonly KvCache[];
  /** The same for every run; drawn on first use. */
  #noise: Feeds | null = null;

  constructor(
    settings: TokurSettings,
    context: ReplicaContext,
    caches: readonly KvCache[] = replicaCaches(settings.samples, context),
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#caches = caches;
  }

  fork(length: number): TokurReplicas {
    const caches = this.#caches.map((cache) => cache.fork(length));
    return new TokurReplicas(this.#settings, this.#context, caches);
  }

  cut(length: number): void {
    for (const cache of this.#caches) cache.length = Math.min(cache.length, length);
  }

  /** @returns per token EU, TU and AU */
  *advance(ids: readonly number[], from: number): Generator<() => Promise<void>, number[][]> {
    const { tokurBases } = this.#context.sessions;
    if (!tokurBases) throw new Error('TokUR cannot be computed here');
    while (!tokurBases.layers) yield () => tokurBases.advance();
    const values: number[][] = ids.slice(from).map(() => []);
    const last = ids.length - 1;
    for (;;) {
      const start = this.#caches[0]!.length;
      if (start >= last) return values;
      const end = replicaEnd(this.#context, { start, from, last }, this.#caches.length);
      yield async () => {
        const targets = replicaTargets(ids, start, end, from);
        const results = await this.#run(ids.slice(start, end), start, targets.length);
        const first = end + 1 - targets.length - from;
        for (const [k, value] of results.entries()) if (first + k >= 0) values[first + k] = value;
      };
    }
  }

  async #run(ids: readonly number[], start: number, scored: number): Promise<number[][]> {
    const { sessions, runtime } = this.#context;
    const { samples } = this.#settings;
    const session = await sessions.get({ kind: 'tokur', samples });
    const rows = this.#caches.flatMap((_, replica) => count((replica + 1) * ids.length - scored, scored));
    const sequences = this.#caches.map((cache) => ({ cache, start, ids }));
    const feeds = { ...this.#noiseFeeds(), rows: longs(rows, [rows.length]) };
    const result = await runSequences(session, runtime, sequences, feeds, ['eu', 'tu', 'au']);
    const [eu, tu, au] = ['eu', 'tu', 'au'].map((name) => result.floats(name));
    return Array.from(eu!, (value, i) => [value, tu![i]!, au![i]!]);
  }

  #noiseFeeds(): Feeds {
    const { samples } = this.#settings;
    const { hiddenSize, heads, kvHeads, headDim } = this.#context.runtime.config;
    const rankOf = { q: Math.min(TOKUR_RANK, heads * headDim), v: Math.min(TOKUR_RANK, kvHeads * headDim) };
    this.#noise ??= this.#each((projection) => {
      const rank = rankOf[projection.name];
      const noise = weightNoise(this.#settings, projection, { hidden: hiddenSize, rank });
      return floats(noise, [samples, hiddenSize, rank]);
    });
    return this.#noise;
  }

  #each(draw: (projection: { layer: number; name: 'q' | 'v' }) => Feeds[string]): Feeds {
    const layers = count(0, this.#context.runtime.config.layers);
    return Object.fromEntries(
      layers.flatMap((layer) =>
        PROJECTIONS.map((name) => [`noise.${layer}.${name}`, draw({ layer, name })] as const),
      ),
    );
  }
}
