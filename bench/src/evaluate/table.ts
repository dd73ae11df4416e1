import type { Evaluation } from '../records/evaluation.js';
import type { Estimate } from '../statistics/estimate.js';
import { macroMean } from '../statistics/macro-mean.js';
import type { Aggregated } from './case.js';

/** A row of a table of any kind, as far as the scopes are concerned. */
export interface Row {
  readonly measure: string;
  readonly aggregation: Aggregated;
  /** How many cases, and what else is counted: of several scopes these add up. */
  readonly counts: readonly number[];
  readonly estimates: readonly Estimate[];
}

export interface ScopedRow extends Row {
  /** `all`, a subset, `macro`, or `macro without` a subset. */
  readonly scope: string;
}

export interface Scopes {
  /** Subsets in the order of the problems. */
  readonly subsets: readonly string[];
  /**
   * Whether to add the means over all subsets but one: the paper evaluates 10 subsets of BBH and lists 11.
   */
  readonly leaveOneOut: boolean;
}

/**
 * The rows of a table for all cases, for each subset, and as means over the subsets.
 * @param rowsOf always the same measures in the same order
 */
export function scoped<T extends { readonly subset: string }>(
  cases: readonly T[],
  { subsets, leaveOneOut }: Scopes,
  rowsOf: (cases: readonly T[]) => readonly Row[],
): ScopedRow[] {
  const rows = (scope: string, rows: readonly Row[]): ScopedRow[] => rows.map((row) => ({ scope, ...row }));
  if (cases.length === 0) return [];
  const all = rows('all', rowsOf(cases));
  if (subsets.length < 2) return all;
  const bySubset = new Map(
    subsets.flatMap((subset) => {
      const mine = cases.filter((one) => one.subset === subset);
      return mine.length > 0 ? [[subset, rowsOf(mine)]] : [];
    }),
  );
  const macro = (left?: string): Row[] => {
    const parts = [...bySubset].flatMap(([subset, rows]) => (subset === left ? [] : [rows]));
    return all.map((row, i) =>
      meanRow(
        row,
        parts.map((rows) => rows[i]!),
      ),
    );
  };
  return [
    ...all,
    ...[...bySubset].flatMap(([subset, mine]) => rows(subset, mine)),
    ...rows('macro', macro()),
    ...(leaveOneOut ? subsets.flatMap((left) => rows(`macro without ${left}`, macro(left))) : []),
  ];
}

function meanRow({ measure, aggregation, counts, estimates }: Row, rows: readonly Row[]): Row {
  return {
    measure,
    aggregation,
    counts: counts.map((_, i) => rows.reduce((sum, row) => sum + row.counts[i]!, 0)),
    estimates: estimates.map((_, i) => macroMean(rows.map((row) => row.estimates[i]!))),
  };
}

/** Estimate as JSON: values that are not defined are `null`. */
export function written({ value, interval }: Estimate): Evaluation['counts'][number]['accuracy'] {
  return {
    value: Number.isFinite(value) ? value : null,
    interval: interval?.every(Number.isFinite) ? [interval[0], interval[1]] : null,
  };
}
