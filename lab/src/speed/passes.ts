import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import { interleave, type Sample } from '#src/cost/timing.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { runForward, runScorePass } from '#src/engine/child/score-pass.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { KvCache } from '#src/engine/kv-cache.js';

export interface PassCost {
  readonly positions: number;
  readonly forward: Sample;
  readonly score: Sample;
  /** Score pass over plain forward pass, medians of interleaved runs. */
  readonly ratio: number;
}

/**
 * A score pass (clean forward, backward, perturbed forward, statistics) against a plain forward pass of the same
 * positions, all of them scored.
 */
export async function measurePasses(
  checkpoint: Checkpoint,
  lengths: readonly number[],
  options: { readonly threads: number; readonly rounds: number },
): Promise<PassCost[]> {
  const { config } = checkpoint;
  const runtime = runtimeOf({ source: checkpoint, threads: options.threads });
  const sessions = new Sessions(checkpoint, options);
  const forward = await sessions.get({ kind: 'forward', sequences: 1, result: 'statistics' });
  const score = await sessions.get({ kind: 'score', sequences: 1, form: 'perturb' });
  const costs: PassCost[] = [];
  for (const positions of lengths) {
    const ids = Array.from({ length: positions + 1 }, (_, i) => (i * 7919) % config.vocabSize);
    const cache = new KvCache(config, positions);
    const targets = ids.slice(1);
    const window = { cache, start: 0, ids: ids.slice(0, -1), targets, attacked: targets.map(() => true) };
    const times = await interleave(options.rounds, {
      forward: () => runForward(forward, runtime, [window]),
      score: () => runScorePass(score, runtime, [window], { form: 'perturb', alpha: 1e-4 }),
    });
    costs.push({ positions, ...times, ratio: times.score.median / times.forward.median });
  }
  return costs;
}
