import { mapValues } from '../map-values.js';
import type { WrittenEstimate } from '../records/evaluation.js';
import type { Estimate } from '../statistics/estimate.js';
import { macroMean } from '../statistics/macro-mean.js';
import type { Aggregated } from './case.js';

/** A row of a table of any kind: what is counted, and what is estimated. */
export interface Row<Count extends string, Metric extends string> {
  readonly measure: string;
  readonly aggregation: Aggregated;
  /** Counts of several scopes add up. */
  readonly counts: Readonly<Record<Count, number>>;
  readonly estimates: Readonly<Record<Metric, Estimate>>;
}

/** The row as evaluation.json has it. `scope`: `all`, a subset, `macro`, or `macro without` a subset. */
export type WrittenRow<Count extends string, Metric extends string> = Pick<
  Row<Count, Metric>,
  'measure' | 'aggregation'
> & { readonly scope: string } & Record<Count, number> &
  Record<Metric, WrittenEstimate>;

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
export function scoped<T extends { readonly subset: string }, C extends string, M extends string>(
  cases: readonly T[],
  { subsets, leaveOneOut }: Scopes,
  rowsOf: (cases: readonly T[]) => readonly Row<C, M>[],
): WrittenRow<C, M>[] {
  const rows = (scope: string, rows: readonly Row<C, M>[]): WrittenRow<C, M>[] =>
    rows.map(({ measure, aggregation, counts, estimates }) => ({
      scope,
      measure,
      aggregation,
      ...counts,
      ...mapValues(estimates, written),
    }));
  if (cases.length === 0) return [];
  const all = rowsOf(cases);
  if (subsets.length < 2) return rows('all', all);
  const bySubset = new Map(
    subsets.flatMap((subset) => {
      const mine = cases.filter((one) => one.subset === subset);
      return mine.length > 0 ? [[subset, rowsOf(mine)]] : [];
    }),
  );
  const macro = (left?: string): Row<C, M>[] => {
    const parts = [...bySubset].flatMap(([subset, mine]) => (subset === left ? [] : [mine]));
    return all.map((row, i) =>
      meanRow(
        row,
        parts.map((mine) => mine[i]!),
      ),
    );
  };
  return [
    ...rows('all', all),
    ...[...bySubset].flatMap(([subset, mine]) => rows(subset, mine)),
    ...rows('macro', macro()),
    ...(leaveOneOut ? subsets.flatMap((left) => rows(`macro without ${left}`, macro(left))) : []),
  ];
}

const meanRow = <C extends string, M extends string>(
  row: Row<C, M>,
  parts: readonly Row<C, M>[],
): Row<C, M> => ({
  ...row,
  counts: mapValues(row.counts, (_, name) =>
    parts.reduce<number>((sum, { counts }) => sum + counts[name], 0),
  ),
  estimates: mapValues(row.estimates, (_, name) => macroMean(parts.map(({ estimates }) => estimates[name]))),
});

/** Estimate as JSON: values that are not defined are `null`. */
export const written = ({ value, interval }: Estimate): WrittenEstimate => ({
  value: Number.isFinite(value) ? value : null,
  interval: interval?.every(Number.isFinite) ? [interval[0], interval[1]] : null,
});
