import type { PassToken } from '../engine/protocol.js';

/** Step of the adversary on every entry of an embedding (arXiv 2602.02427, its default). */
export const DEFAULT_ALPHA = 1e-4;

/**
 * Adv. Pert. (arXiv 2602.02427): f(H) − f(H − α·sgn g), how much the log-probability of the token falls when the
 * embeddings before it move against it. Natural log; may be negative, as the gradient is that of a sum.
 */
export function adversarial({ logprob, adversary }: PassToken): number {
  if (!adversary) throw new Error('adversarial: the pass had no adversary');
  return logprob - adversary.perturbedLogprob;
}
