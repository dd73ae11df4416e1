import type { PassToken } from '../engine/protocol.js';

/**
 * Adv. Pert. (arXiv 2602.02427): f(H) − f(H − α·sgn g), how much the log-probability of the token falls when the
 * embeddings before it move against it. Natural log; may be negative, as the gradient is that of a sum. The pass that
 * computes it is built by `src/graphs/score-graph.ts` and run by `src/engine/child/score-pass.ts`.
 */
export function adversarial({ adversary }: PassToken): number {
  if (!adversary) throw new Error('adversarial: the pass had no adversary');
  return adversary.fall;
}
