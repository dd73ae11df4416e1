import { table } from '#bench/markdown-table.js';
import { percentileInterval, type Resampled } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import type { AGGREGATIONS } from '#bench/steps/aggregation.js';
import {
  against,
  commonUnits,
  completeMeasures,
  type Detection,
  type Difference,
  detect,
  ONE_PASS,
  RATES,
  SIMPLE,
} from './evaluation.js';
import { type Detector, describe, detectorLabel, HEADS, labelOf, temperature } from './labels.js';
import { LENGTH, type UnitSet } from './units.js';

/** Tables of docs/results/small-models.md by their names: all follow from lab/data/small-models.json. */
export function smallModelsTables(sets: readonly UnitSet[]): ReadonlyMap<string, string> {
  const evaluated = sets.map((set) => evaluate(completeMeasures(set)));
  const partial = sets
    .filter((set) => set.units.some((unit) => unit.includes(null)))
    .map(commonUnits)
    .map(evaluate);
  return new Map([
    ['counts', countTable(sets)],
    ...[...byTaskAndModel(evaluated)].flatMap(([name, mine]): [string, string][] => [
      [`${name}, AUROC`, metricTable(mine, ({ auroc }) => auroc)],
      [`${name}, average precision`, metricTable(mine, ({ averagePrecision }) => averagePrecision)],
      [`${name}, found`, recallTable(mine)],
    ]),
    ...[...byTaskAndModel(partial)].map(([name, mine]): [string, string] => [
      `${name}, AUROC on fewer answers`,
      metricTable(mine, ({ auroc }) => auroc),
    ]),
    ['alarms', alarmTable([...evaluated, ...partial])],
    ['differences', differenceTable([...evaluated, ...partial])],
  ]);
}

interface Evaluated {
  readonly set: UnitSet;
  readonly detections: readonly Detection[];
}

const evaluate = (set: UnitSet): Evaluated => ({ set, detections: detect(set) });

function byTaskAndModel(all: readonly Evaluated[]): Map<string, Evaluated[]> {
  const groups = new Map<string, Evaluated[]>();
  for (const one of all) {
    const name = `${one.set.task}, ${one.set.model}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups;
}

function countTable(sets: readonly UnitSet[]): string {
  return table(
    ['task', 'model', 'temperature', 'answers', 'cut off', 'units', 'wrong', 'not counted'],
    sets.map((set) => [
      ...describe(set),
      ...[set.answers, set.truncated, set.units.length].map(String),
      `${set.units.filter(([, wrong]) => wrong === 1).length}`,
      String(set.uncounted),
    ]),
  );
}

const HOW = ['max', 'mean', 'sum'] as const;

/** Controls have one number, in the first column. */
function metricTable(sets: readonly Evaluated[], metric: (detection: Detection) => Resampled): string {
  return measureTable(
    sets,
    HOW.map((how) => ({ how, head: HEADS[how], metric })),
  );
}

function recallTable(sets: readonly Evaluated[]): string {
  const columns = HOW.flatMap((how) =>
    RATES.map((rate, i) => ({
      how,
      head: `${HEADS[how]}, ${100 * rate} %`,
      metric: ({ recall }: Detection) => recall[i]!,
    })),
  );
  return measureTable(sets, columns, 2);
}

interface Column {
  readonly how: (typeof AGGREGATIONS)[number];
  readonly head: string;
  readonly metric: (detection: Detection) => Resampled;
}

function measureTable(sets: readonly Evaluated[], columns: readonly Column[], digits = 3): string {
  const measures = [...new Set(sets.flatMap(({ detections }) => detections.map(({ measure }) => measure)))];
  const several = sets.length > 1;
  const rows = measures.map((measure) => [
    labelOf(measure),
    ...sets.flatMap(({ detections }) =>
      columns.map(({ how, metric }) => {
        const found = detections.find(
          (one) =>
            one.measure === measure &&
            (one.aggregation === how || (one.aggregation === 'own' && how === 'max')),
        );
        return found ? formatEstimate(percentileInterval(metric(found)), digits) : '';
      }),
    ),
  ]);
  const heads = sets.flatMap(({ set }) =>
    columns.map(({ head }) => (several ? `${temperature(set)}: ${head}` : head)),
  );
  return table(['measure', ...heads], rows);
}

const WATCHED: readonly Detector[] = [
  ['adversarial', 'max'],
  ['adversarial:block=8,window=64', 'max'],
  ['adversarial:block=16,window=32', 'max'],
  ['entropy', 'sum'],
  ['entropy-top20', 'sum'],
  ['nll', 'sum'],
  ['nll', 'mean'],
  ['nll', 'max'],
  ['margin', 'max'],
  [LENGTH, 'own'],
];

/** Findings of alarms at the same share of false ones. */
function alarmTable(all: readonly Evaluated[]): string {
  const rows = all.flatMap(({ set, detections }) =>
    RATES.map((rate, i) => [
      ...describe(set),
      `${100 * rate} %`,
      ...WATCHED.map(([measure, how]) => {
        const found = detections.find((one) => one.measure === measure && one.aggregation === how);
        return found ? formatEstimate(percentileInterval(found.recall[i]!), 2) : '';
      }),
    ]),
  );
  const heads = WATCHED.map(([measure, how]) => detectorLabel(measure, how));
  return table(['task', 'model', 'temperature', 'false alarms', ...heads], rows);
}

/** Adv. Pert., offline and as the guard streams it, by largest token and by its best aggregation. */
function differenceTable(all: readonly Evaluated[]): string {
  const rows = all.flatMap(({ set, detections }) =>
    [...new Set(detections.map(({ measure }) => measure))]
      .filter((measure) => measure.startsWith('adversarial'))
      .map((measure) => {
        const mine = detections.filter((one) => one.measure === measure);
        const largest = mine.find(({ aggregation }) => aggregation === 'max')!;
        const best = mine.reduce((a, b) => (b.auroc.value > a.auroc.value ? b : a));
        return [
          ...describe(set),
          String(set.units.length),
          labelOf(measure),
          ...differenceCells(against(largest, detections, SIMPLE)),
          ...differenceCells(against(largest, detections, ONE_PASS)),
          HEADS[best.aggregation as (typeof HOW)[number]],
          differenceCells(against(best, detections, ONE_PASS))[1]!,
        ];
      }),
  );
  return table(
    [
      ...['task', 'model', 'temperature', 'units', 'measure'],
      ...['best simple control', 'difference', 'p'],
      ...['best of one pass', 'difference', 'p'],
      ...['best aggregation', 'difference to one pass'],
    ],
    rows,
  );
}

function differenceCells({ control, auroc, p }: Difference): string[] {
  return [detectorLabel(control.measure, control.aggregation), formatEstimate(auroc), p.toFixed(3)];
}
