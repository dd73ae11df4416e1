import { mean, variance } from 'simple-statistics';

/**
 * Rand. Pert. (arXiv 2602.02427): the population variance of log P(token) over draws of Δ ~ N(0, σ²I) on every
 * embedding of the text. Natural log.
 * @param values log P(token), one per draw; or in the derivative form ∇f · Δ, whose mean square is the same to first
 *   order, as its mean is known to be 0, and has no difference of nearly equal numbers in it
 */
export function random(values: readonly number[], form: 'perturb' | 'derivative'): number {
  return form === 'perturb' ? variance([...values]) : mean(values.map((value) => value * value));
}
