import { mean } from 'simple-statistics';
import type { Estimate } from '#bench/statistics/estimate.js';
import { mcnemar } from '#bench/statistics/mcnemar.js';
import { countPairs } from '#bench/statistics/paired.js';
import { pairedDifference } from '#bench/statistics/paired-difference.js';
import { wilson } from '#bench/statistics/wilson.js';

/** How often the problems were answered right in one way, and what it took. */
export interface Outcome {
  readonly name: string;
  readonly right: readonly boolean[];
  /** All tokens that were written for each problem, candidates and what was retracted included. */
  readonly tokens: readonly number[];
  /** Rollbacks, by what came of them. */
  readonly kept: number;
  readonly replaced: number;
}

/** Tokens per problem. */
export const tokensOf = ({ tokens }: Pick<Outcome, 'tokens'>): number => mean([...tokens]);

/** Two ways over the same problems. */
export interface Comparison {
  readonly with: string;
  /** Accuracy of the first less that of the second. */
  readonly difference: Estimate;
  readonly gained: number;
  readonly lost: number;
  /** Two-sided, McNemar's exact test. */
  readonly p: number;
}

export interface Row {
  readonly name: string;
  readonly accuracy: Estimate;
  readonly tokensPerProblem: number;
  readonly kept: number;
  readonly replaced: number;
  readonly comparisons: readonly Comparison[];
}

/** @param others that it is compared with, problem by problem */
export function compare(outcome: Outcome, others: readonly Outcome[]): Row {
  const { name, right, kept, replaced } = outcome;
  return {
    name,
    accuracy: wilson(right.filter(Boolean).length, right.length),
    tokensPerProblem: tokensOf(outcome),
    kept,
    replaced,
    comparisons: others.map((other) => {
      const counts = countPairs(right, other.right);
      return {
        with: other.name,
        difference: pairedDifference(counts),
        gained: counts.onlyFirst,
        lost: counts.onlySecond,
        p: mcnemar(counts),
      };
    }),
  };
}
