import { FIRST, LONGEST, POSITION, type ScoredCase } from '#bench/evaluate/case.js';
import { stepHits, stepTable, tokenHits, tokenTable } from '#bench/evaluate/hits.js';
import { mainMeasure, pairedHits } from '#bench/evaluate/paired.js';
import { table } from '#bench/markdown-table.js';
import type { Evaluation } from '#bench/records/evaluation.js';
import { metricLabel } from '#bench/report/levels.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { formatEstimate } from '#bench/statistics/estimate.js';

/** How the paper judges a measure: by the tokens of a wrong answer that score most, and by its step with the highest sum. */
const COLUMNS = ['top3', 'top5', 'top1pct', 'top1'] as const;
const STEP = 'top1';
const HEADS = COLUMNS.map((column) => (column === STEP ? 'highest step' : metricLabel(column).toLowerCase()));

const BOOTSTRAP = { resamples: 1000, seed: 1 };
const ALL = { subsets: [], leaveOneOut: false };

type Cell = Evaluation['counts'][number]['accuracy'];
const isMain = ({ aggregation }: { readonly aggregation: string | null }): boolean =>
  aggregation === 'sum' || aggregation === 'own' || aggregation === null;

/** Shares of wrong answers whose first wrong step a measure points to: by its tokens, and by the sum over its tokens. */
export function hitRows(cases: readonly ScoredCase[], measures: readonly string[]) {
  const wrong = cases.filter((one) => one.wrong);
  const tokens = tokenTable(wrong, [...measures, POSITION], ALL);
  const steps = stepTable(wrong, [...measures, LONGEST, POSITION], ALL).filter(isMain);
  const names = new Set([...measures, LONGEST, POSITION, FIRST, ...steps.map(({ measure }) => measure)]);
  return [...names].map((measure) => {
    const token = tokens.find((row) => row.measure === measure);
    const top1 = steps.find((row) => row.measure === measure)?.top1;
    const cells: Readonly<Partial<Record<(typeof COLUMNS)[number], Cell>>> = {
      ...(token && { top3: token.top3, top5: token.top5, top1pct: token.top1pct }),
      ...(top1 && { top1 }),
    };
    return { measure, cells };
  });
}

export const hitTable = (cases: readonly ScoredCase[], measures: readonly string[]): string =>
  table(
    ['measure', ...HEADS],
    hitRows(cases, measures).map(({ measure, cells }) => [
      measureLabel(measure),
      ...COLUMNS.map((column) => shown(cells[column])),
    ]),
  );

/** Adv. Pert. less each other measure, on the same answers; `null` without Adv. Pert. */
export function differenceTable(cases: readonly ScoredCase[], measures: readonly string[]): string | null {
  const main = mainMeasure(measures);
  if (main === undefined) return null;
  const wrong = cases.filter((one) => one.wrong);
  const rows = [
    ...pairedHits('token', tokenHits(wrong, measures), main, BOOTSTRAP),
    ...pairedHits('step', stepHits(wrong, [...measures, LONGEST]), main, BOOTSTRAP).filter(isMain),
  ];
  const others = [...new Set(rows.map(({ b }) => b))];
  return table(
    [`${measureLabel(main)} less`, ...HEADS],
    others.map((other) => [
      measureLabel(other),
      ...COLUMNS.map((column) => {
        const level = column === STEP ? 'step' : 'token';
        const row = rows.find((one) => one.b === other && one.level === level && one.metric === column);
        return row ? `${shown(row.difference)}, p ${shownP(row.p)}` : '';
      }),
    ]),
  );
}

const shownP = (p: number): string => (p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`);

export const shown = (estimate: Cell | undefined, digits = 3): string =>
  estimate === undefined || estimate.value === null
    ? ''
    : formatEstimate({ value: estimate.value, interval: estimate.interval }, digits);
