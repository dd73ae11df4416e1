import { runPass, type Window } from '../../engine/child/score-pass.js';
import { ScoreCache } from '../../engine/kv-cache.js';
import { openSession } from '../../engine/session.js';
import type { Checkpoint } from '../../model/checkpoint.js';
import { RotaryEmbedding } from '../../model/rope.js';
import { buildScoreGraph } from '../../model/score-graph.js';
import { interleave, type Sample } from './measure.js';

export interface PassCost {
  readonly positions: number;
  readonly forward: Sample;
  readonly score: Sample;
  /** Score pass over plain forward pass, medians of interleaved runs. */
  readonly ratio: number;
}

/**
 * A score pass (clean forward, backward, perturbed forward, statistics) against a plain forward pass of the same
 * positions, both in the graph of primitive operators, both with all positions scored.
 */
export async function measurePasses(
  checkpoint: Checkpoint,
  lengths: readonly number[],
  options: { readonly threads: number; readonly rounds: number },
): Promise<PassCost[]> {
  const { config } = checkpoint;
  const rotary = new RotaryEmbedding(config);
  const forward = await openSession(buildScoreGraph(checkpoint, { adversary: false }), options);
  const adversarial = await openSession(buildScoreGraph(checkpoint, { adversary: true }), options);
  const costs: PassCost[] = [];
  for (const positions of lengths) {
    const ids = Array.from({ length: positions + 1 }, (_, i) => (i * 7919) % config.vocabSize);
    const cache = new ScoreCache(config, positions);
    const window: Window = { cache, start: 0, ids: ids.slice(0, -1), targets: ids.slice(1) };
    const times = await interleave(options.rounds, {
      forward: () => runPass(forward, config, rotary, [window], null),
      score: () => runPass(adversarial, config, rotary, [window], 1e-4),
    });
    costs.push({ positions, ...times, ratio: times.score.median / times.forward.median });
  }
  return costs;
}
