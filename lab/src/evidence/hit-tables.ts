import { table } from '#bench/markdown-table.js';
import type { Evaluation } from '#bench/records/evaluation.js';
import { type Estimate, type MeasuredRow, metricLabel, rowsOf } from '#bench/report/levels.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { formatEstimate } from '#bench/statistics/estimate.js';

/** How the paper judges a measure: by the tokens of a wrong answer that score most, and by its step with the highest sum. */
const COLUMNS = [
  { level: 'token', metric: 'top3' },
  { level: 'token', metric: 'top5' },
  { level: 'token', metric: 'top1pct' },
  { level: 'step', metric: 'top1' },
] as const;
const HEADS = COLUMNS.map(({ level, metric }) =>
  level === 'step' ? 'highest step' : metricLabel(metric).toLowerCase(),
);

type Cells = Map<string, string>;

/** Shares of wrong answers whose first wrong step a measure points to; rows in the order of the run. */
export function hitTable(evaluation: Evaluation): string {
  return asTable('measure', (level) =>
    rowsOf(evaluation, level)
      .filter(({ scope, main }) => scope === 'all' && main)
      .map(({ measure, metrics }: MeasuredRow) => {
        const estimate = (metric: string): string => shown(metrics.get(metric));
        return { measure, of: estimate };
      }),
  );
}

/** The first measure less each other one, on the same answers. */
export function differenceTable(evaluation: Evaluation): string {
  const { paired } = evaluation;
  const head = `${measureLabel(paired[0]?.a ?? '')} less`;
  const mine = (level: string, other: string, metric: string) =>
    paired.find(
      (row) =>
        row.level === level &&
        row.b === other &&
        row.metric === metric &&
        row.aggregation !== 'max' &&
        row.aggregation !== 'mean',
    );
  return asTable(head, (level) =>
    [...new Set(paired.filter((row) => row.level === level).map(({ b }) => b))].map((measure) => ({
      measure,
      of: (metric) => {
        const row = mine(level, measure, metric);
        return row ? `${shown(row.difference)}, p = ${row.p.toFixed(3)}` : '';
      },
    })),
  );
}

function asTable(
  head: string,
  cellsOf: (level: 'token' | 'step') => readonly { measure: string; of: (metric: string) => string }[],
): string {
  const rows = new Map<string, Cells>();
  for (const level of ['token', 'step'] as const)
    for (const { measure, of } of cellsOf(level)) {
      const cells: Cells = rows.get(measure) ?? new Map();
      for (const column of COLUMNS)
        if (column.level === level) cells.set(`${level} ${column.metric}`, of(column.metric));
      rows.set(measure, cells);
    }
  return table(
    [head, ...HEADS],
    [...rows].map(([measure, cells]) => [
      measureLabel(measure),
      ...COLUMNS.map(({ level, metric }) => cells.get(`${level} ${metric}`) ?? ''),
    ]),
  );
}

const shown = (estimate?: Estimate): string =>
  estimate?.value === null || estimate === undefined
    ? ''
    : formatEstimate({ value: estimate.value, interval: estimate.interval });
