export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Standard normal quantiles of two-sided intervals. */
const Z = { 0.95: 1.959963985, 0.99: 2.575829304 } as const;
export type Confidence = keyof typeof Z;

/** Wilson's score interval of a binomial proportion; it is of use for few successes too, and for none. */
export function wilson(successes: number, trials: number, confidence: Confidence = 0.95): Interval {
  const z = Z[confidence];
  const rate = successes / trials;
  const centre = rate + z ** 2 / (2 * trials);
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  const scale = 1 + z ** 2 / trials;
  return { low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) };
}

/**
 * Interval of a proportion whose trials come in groups that are alike, as the tokens of one answer are: Wilson's, with
 * the trials divided by the design effect, the factor by which the variance between groups exceeds the binomial one.
 */
export function groupedWilson(
  groups: readonly { readonly successes: number; readonly trials: number }[],
  confidence: Confidence = 0.95,
): Interval {
  const trials = groups.reduce((sum, group) => sum + group.trials, 0);
  const successes = groups.reduce((sum, group) => sum + group.successes, 0);
  const rate = successes / trials;
  const squares = groups.reduce((sum, group) => sum + (group.successes - rate * group.trials) ** 2, 0);
  const binomial = trials * rate * (1 - rate);
  const between = groups.length > 1 ? (squares * groups.length) / (groups.length - 1) : squares;
  const effect = binomial > 0 ? Math.max(1, between / binomial) : 1;
  return wilson(successes / effect, trials / effect, confidence);
}
