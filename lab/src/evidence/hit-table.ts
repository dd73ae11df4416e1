import { FIRST, LONGEST, POSITION, type ScoredCase } from '#bench/evaluate/case.js';
import { stepTable, tokenTable } from '#bench/evaluate/hits.js';
import { table } from '#bench/markdown-table.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { type Estimate, formatEstimate } from '#bench/statistics/estimate.js';

const ALL = { subsets: [], leaveOneOut: false };

/**
 * How the paper judges a measure: shares of wrong answers whose first wrong step has one of the three highest tokens, and
 * the highest sum.
 */
export function hitTable(cases: readonly ScoredCase[], measures: readonly string[]): string {
  const wrong = cases.filter((one) => one.wrong);
  const tokens = tokenTable(wrong, [...measures, POSITION], ALL);
  const steps = stepTable(wrong, [...measures, LONGEST, POSITION], ALL).filter(
    ({ aggregation }) => aggregation === 'sum' || aggregation === 'own' || aggregation === null,
  );
  const names = new Set([...measures, LONGEST, POSITION, FIRST, ...steps.map(({ measure }) => measure)]);
  const rows = [...names].map((measure) => [
    measureLabel(measure),
    shown(tokens.find((row) => row.measure === measure)?.top3),
    shown(steps.find((row) => row.measure === measure)?.top1),
  ]);
  return table(['measure', '3 highest tokens', 'highest step'], rows);
}

const shown = (estimate?: { value: number | null; interval: Estimate['interval'] }): string =>
  estimate === undefined || estimate.value === null
    ? ''
    : formatEstimate({ value: estimate.value, interval: estimate.interval });
