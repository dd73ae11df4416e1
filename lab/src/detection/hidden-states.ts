import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { runSequences, runtimeOf } from '#src/engine/child/sequence-run.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { longs } from '#src/engine/ort-session.js';

/** Output of a model's middle layer: that of a model that ends there. */
export class HiddenStates {
  readonly layer: number;
  readonly #source: Checkpoint;
  readonly #sessions: Sessions;

  constructor(checkpoint: Checkpoint) {
    const { config } = checkpoint;
    this.layer = Math.ceil(config.layers / 2);
    this.#source = { ...checkpoint, config: { ...config, layers: this.layer } };
    this.#sessions = new Sessions(this.#source, { threads: 1 });
  }

  /**
   * @param ids of a prompt and its answer
   * @param spans tokens `from` to `to − 1` of the answer
   * @returns the mean over the tokens of each span, `[hidden]`
   */
  async means(
    promptIds: readonly number[],
    ids: readonly number[],
    spans: readonly { readonly from: number; readonly to: number }[],
  ): Promise<number[][]> {
    if (ids.length === 0) return [];
    const session = await this.#sessions.get({ kind: 'forward', sequences: 1, result: 'hidden' });
    const all = [...promptIds, ...ids];
    const cache = new KvCache(this.#source.config, all.length);
    const rows = longs(
      Array.from(ids, (_, i) => promptIds.length + i),
      [ids.length],
    );
    const runtime = runtimeOf({ source: this.#source, threads: 1 });
    const result = await runSequences(session, runtime, [{ cache, start: 0, ids: all }], { rows }, [
      'hidden',
    ]);
    const hidden = result.floats('hidden');
    const size = this.#source.config.hiddenSize;
    return spans.map(({ from, to }) =>
      Array.from({ length: size }, (_, d) => {
        let sum = 0;
        for (let token = from; token < to; token++) sum += hidden[token * size + d]!;
        return Number((sum / (to - from)).toPrecision(5));
      }),
    );
  }
}
