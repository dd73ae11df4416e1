/**
 * Statistics of the distribution that a token was drawn from: natural log, temperature 1. Each is an uncertainty method
 * of its name. `src/graphs/statistics-graph.ts` computes them in passes.
 *
 * - `entropy`: −Σ p log p over the vocabulary
 * - `margin`: 1 − (p(x) − the largest p(v), v ≠ x), between 0 and 2
 */
export const TOKEN_STATISTICS = ['entropy', 'margin'] as const;
export type TokenStatistic = (typeof TOKEN_STATISTICS)[number];
export type TokenStatistics = Readonly<Record<TokenStatistic, number>>;

/** One value for each statistic. */
export const byTokenStatistic = <Value>(of: (name: TokenStatistic) => Value) =>
  Object.fromEntries(TOKEN_STATISTICS.map((name) => [name, of(name)])) as Record<TokenStatistic, Value>;

/**
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
