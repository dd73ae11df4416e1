import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';

/**
 * Token-level uncertainty of TokUR (docs/design/evaluation.md, section 3), each `[scored]`, natural log, full vocabulary, with
 * p̄ the mean of the distributions p_m of M samples of the weights: total `tu` = H(p̄), aleatoric `au` = mean H(p_m)
 * and epistemic `eu` = mean KL(p_m ‖ p̄), which is their difference.
 *
 * The difference itself would be rounding alone: eu is about σ², 1e-6 and less. So is Σ p log(p / p̄) in fp32, whose
 * terms are of order σ and cancel. As Σ p = Σ p̄, it is also Σ p φ(u) with u = log(p̄ / p) and φ(u) = eᵘ − 1 − u ≥ 0:
 * nothing cancels.
 *
 * @param logprobs `[samples, scored, vocab]`, all finite
 */
export function tokurStatistics(g: Graph, logprobs: Value) {
  const add = (a: Value, b: Value) => g.op('Add', [a, b]);
  const subtract = (a: Value, b: Value) => g.op('Sub', [a, b]);
  const multiply = (a: Value, b: Value) => g.op('Mul', [a, b]);
  const overVocabulary = (x: Value) => g.reduce('ReduceSum', x, [2]);
  const perToken = (x: Value) => g.reduce('ReduceMean', x, [0, 2], { keepDims: false });

  // Shifted by the largest: differences of close numbers are exact, and e to their power never overflows.
  const largest = g.reduce('ReduceMax', logprobs, [0]);
  const mean = g.reduce('ReduceMean', g.op('Exp', [subtract(logprobs, largest)]), [0]);
  const logMean = g.op('Log', [mean]);
  const u = add(logMean, subtract(largest, logprobs));

  const p = g.op('Exp', [logprobs]);
  const pMean = multiply(g.op('Exp', [largest]), mean);
  const near = g.op('Less', [multiply(u, u), g.scalar(SERIES_BELOW ** 2)]);
  const series = SERIES.reduce<Value | null>(
    (sum, term) => (sum ? add(multiply(sum, u), g.scalar(term)) : g.scalar(term)),
    null,
  )!;
  // Far apart, p φ(u) is written with p̄ for p eᵘ: that would be 0 · ∞ for a token that one sample all but excludes.
  const apart = subtract(subtract(pMean, p), multiply(p, u));
  const divergence = g.op('Where', [near, multiply(p, multiply(multiply(u, u), series)), apart]);

  const entropy = (probabilities: Value, logs: Value) =>
    g.op('Neg', [perToken(overVocabulary(multiply(probabilities, logs)))]);
  return {
    eu: perToken(overVocabulary(divergence)),
    tu: entropy(pMean, add(largest, logMean)),
    au: entropy(p, logprobs),
  };
}

/** φ(u) / u² = 1/2! + u/3! + …, from the last term that counts in fp32 to the first. */
const SERIES = [1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2];
const SERIES_BELOW = 0.25;
