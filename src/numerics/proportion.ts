export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Standard normal quantiles of two-sided intervals; `probit` of simple-statistics is off in the third digit. */
export const Z = { 0.95: 1.959963984540054, 0.99: 2.5758293035489 } as const;
export type Confidence = keyof typeof Z;

/**
 * Wilson's score interval (1927) of a binomial proportion, which also holds for few trials and for shares near 0 and 1.
 * Without a trial nothing is known: anywhere in [0, 1].
 */
export function wilson(successes: number, trials: number, confidence: Confidence = 0.95): Interval {
  if (trials === 0) return { low: 0, high: 1 };
  const z = Z[confidence];
  const rate = successes / trials;
  const centre = rate + z ** 2 / (2 * trials);
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  const scale = 1 + z ** 2 / trials;
  // If the share is 0 or 1, the end is the share itself, but for rounding.
  return {
    low: successes === 0 ? 0 : (centre - spread) / scale,
    high: successes === trials ? 1 : (centre + spread) / scale,
  };
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
