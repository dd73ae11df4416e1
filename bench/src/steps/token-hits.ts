import type { TokenRange } from './response-steps.js';

/**
 * Whether a step holds one of the response's k highest tokens, ties included (arXiv 2602.02427): a token of it scores at
 * least the k-th highest. The lowest score of the response is never a hit, or else a schedule that tells no tokens apart
 * would hit always.
 * @param scores of the whole response; `null`, skipped, ranks below all others, as in the guard
 */
export function holdsTops(
  scores: readonly (number | null)[],
  { start, end }: TokenRange,
  ks: readonly number[],
): boolean[] {
  const ascending = new Float64Array(scores.length);
  for (let i = 0; i < scores.length; i += 1) ascending[i] = scores[i] ?? Number.NEGATIVE_INFINITY;
  const highest = ascending.subarray(start, end).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  ascending.sort();
  return ks.map((k) => highest >= ascending.at(-Math.min(k, scores.length))! && highest > ascending[0]!);
}

/** How likely so many of the response's tokens hold one of k tokens drawn at random: 1 − C(n − w, k) / C(n, k). */
export function chanceToHoldTop(responseTokens: number, stepTokens: number, k: number): number {
  let missed = 1;
  for (let i = 0; i < Math.min(k, responseTokens); i += 1) {
    missed *= Math.max(0, responseTokens - stepTokens - i) / (responseTokens - i);
  }
  return 1 - missed;
}

/** One token in a hundred of a response, at least one. The paper does not say how it rounds. */
export function onePercent(responseTokens: number) {
  const share = responseTokens / 100;
  const atLeastOne = (k: number): number => Math.max(1, k);
  return {
    ceil: atLeastOne(Math.ceil(share)),
    floor: atLeastOne(Math.floor(share)),
    /** Halves up. */
    round: atLeastOne(Math.round(share)),
  };
}
