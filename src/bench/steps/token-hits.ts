import { mean } from 'simple-statistics';
import type { Estimate } from '../statistics/estimate.js';
import { wilson } from '../statistics/wilson.js';
import { type PooledStep, scoresOf } from './pooled-steps.js';
import type { TokenRange } from './step-answer.js';

/** In what share of the answers with a wrong step that step holds one of the response's highest tokens. */
export interface HitRow {
  /** A method or schedule, or `chance`. */
  readonly score: string;
  readonly top1: Estimate;
  readonly top3: Estimate;
}

/** Intervals are Wilson's. @param wrong the first wrong step of each answer that has one */
export function hitRows(wrong: readonly PooledStep[], names: readonly string[]): HitRow[] {
  const share = (name: string, k: number): Estimate =>
    wilson(wrong.filter((step) => holdsTop(scoresOf(step.answer, name), step, k)).length, wrong.length);
  const chance = (k: number): Estimate => {
    const shares = wrong.map(({ answer, start, end }) =>
      chanceToHoldTop(answer.steps.at(-1)!.end, end - start, k),
    );
    return { value: shares.length === 0 ? Number.NaN : mean(shares), interval: null };
  };
  return [
    ...names.map((name) => ({ score: name, top1: share(name, 1), top3: share(name, 3) })),
    { score: 'chance', top1: chance(1), top3: chance(3) },
  ];
}

/**
 * Whether a step holds one of the response's k highest tokens, ties included (arXiv 2602.02427): a token of it scores at
 * least the k-th highest. The lowest score of the response is never a hit, or else a schedule that tells no tokens apart
 * would hit always.
 * @param scores of the whole response; `null`, not attacked, counts as 0
 */
export function holdsTop(scores: readonly (number | null)[], { start, end }: TokenRange, k: number): boolean {
  const values = scores.map((score) => score ?? 0);
  const descending = values.toSorted((a, b) => b - a);
  const threshold = descending[Math.min(k, values.length) - 1]!;
  const lowest = descending.at(-1)!;
  return values.slice(start, end).some((value) => value >= threshold && value > lowest);
}

/** How likely so many of the response's tokens hold one of k tokens drawn at random: 1 − C(n − w, k) / C(n, k). */
export function chanceToHoldTop(responseTokens: number, stepTokens: number, k: number): number {
  let missed = 1;
  for (let i = 0; i < Math.min(k, responseTokens); i += 1) {
    missed *= Math.max(0, responseTokens - stepTokens - i) / (responseTokens - i);
  }
  return 1 - missed;
}
