import { table } from '../markdown-table.js';
import { measureLabel } from '../report/measure-label.js';
import { percentileInterval, type Resampled } from '../statistics/bootstrap.js';
import { formatEstimate } from '../statistics/estimate.js';
import type { AGGREGATIONS } from '../steps/aggregation.js';
import {
  againstSimple,
  commonUnits,
  completeMeasures,
  type Detection,
  type Difference,
  detect,
  RATES,
} from './evaluation.js';
import type { TaskName } from './tasks.js';
import { LENGTH, POSITION, type UnitSet } from './units.js';

/** What docs/results/pretrained.md shows, by its heading: each follows from docs/results/pretrained.json. */
export function pretrainedTables(sets: readonly UnitSet[]): ReadonlyMap<string, string> {
  const evaluated = sets.map((set) => evaluate(completeMeasures(set)));
  const tables = new Map<string, string>([['counts', countTable(sets)]]);
  for (const [name, mine] of byTaskAndModel(evaluated)) {
    tables.set(
      `${name}: AUROC`,
      metricTable(mine, ({ auroc }) => auroc),
    );
    tables.set(
      `${name}: average precision`,
      metricTable(mine, ({ averagePrecision }) => averagePrecision),
    );
    tables.set(`${name}: found`, recallTable(mine));
  }
  const partial = sets.filter((set) => set.units.some((unit) => unit.includes(null))).map(commonUnits);
  for (const [name, mine] of byTaskAndModel(partial.map(evaluate)))
    tables.set(
      `${name}: AUROC of all measures`,
      metricTable(mine, ({ auroc }) => auroc),
    );
  tables.set('differences', differenceTable([...evaluated, ...partial.map(evaluate)]));
  return tables;
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

const TASK_LABELS: Readonly<Record<TaskName, string>> = {
  equations: 'equations, written',
  'read-gsm8k': 'ProcessBench gsm8k, read',
  'read-math': 'ProcessBench math, read',
  questions: 'questions, answered',
};

const MODEL_LABELS: Readonly<Record<string, string>> = {
  smollm2: 'SmolLM2-135M-Instruct',
  gemma3: 'Gemma 3 270M',
};

const temperature = (set: UnitSet): string => (set.temperature === null ? '–' : `T = ${set.temperature}`);

const describe = (set: UnitSet): string[] => [
  TASK_LABELS[set.task],
  MODEL_LABELS[set.model] ?? set.model,
  temperature(set),
];

const labelOf = (measure: string): string =>
  ({ [LENGTH]: 'length', [POSITION]: 'position', 'entropy-top20': 'Entropy of the 20 most likely' })[
    measure
  ] ?? measureLabel(measure);

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

const HEADS: Readonly<Record<(typeof AGGREGATIONS)[number], string>> = {
  max: 'largest',
  mean: 'mean',
  sum: 'sum',
};
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
          ...differenceCells(againstSimple(detections, largest)),
          HEADS[best.aggregation as (typeof HOW)[number]],
          differenceCells(againstSimple(detections, best))[1]!,
        ];
      }),
  );
  return table(
    [
      ...['task', 'model', 'temperature', 'units', 'measure'],
      ...['best simple control', 'largest token minus control', 'p', 'its best', 'best minus control'],
    ],
    rows,
  );
}

function differenceCells({ control, auroc, p }: Difference): string[] {
  const how = control.aggregation === 'own' ? '' : `, ${HEADS[control.aggregation]}`;
  return [`${labelOf(control.measure)}${how}`, formatEstimate(auroc), p.toFixed(3)];
}
