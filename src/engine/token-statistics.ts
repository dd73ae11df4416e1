/** Statistics of the distribution that a token was drawn from: natural log, temperature 1. */
export interface TokenStatistics {
  /** −Σ p log p over the vocabulary. */
  readonly entropy: number;
  /** 1 − (p(x) − the largest p(v), v ≠ x), between 0 and 2. */
  readonly margin: number;
}

/**
 * The same as the score graphs compute (src/graphs/token-statistics.ts).
 * @param logprobs `[vocab]`
 * @param id the token x
 */
export function tokenStatistics(logprobs: Float32Array, id: number): TokenStatistics {
  let entropy = 0;
  let other = Number.NEGATIVE_INFINITY;
  for (let v = 0; v < logprobs.length; v++) {
    const logprob = logprobs[v]!;
    entropy -= Math.exp(logprob) * logprob;
    if (logprob > other && v !== id) other = logprob;
  }
  return { entropy, margin: 1 - (Math.exp(logprobs[id]!) - Math.exp(other)) };
}
