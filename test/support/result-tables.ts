import { readFileSync } from 'node:fs';
import { type Evaluation, evaluationSchema } from '#bench/records/evaluation.js';
import { measureLabel } from '#bench/report/measure-label.js';

const load = (folder: string): Evaluation =>
  evaluationSchema.parse(JSON.parse(readFileSync(`docs/results/${folder}/evaluation.json`, 'utf8')));

const LEVELS = { tokens: 'token', steps: 'step', pooled: 'pooled', responses: 'response' } as const;
type Table = keyof typeof LEVELS;

interface Column {
  readonly head: string;
  readonly run: Evaluation;
  readonly metric: string;
  /** Of the tokens' scores; `sum` stands for a measure's own score where it has one. */
  readonly by?: 'sum' | 'mean' | 'max';
  readonly scope?: 'all' | 'macro';
  readonly intervals?: boolean;
}

/** Values with the sign of their comparison with `adversarial`: worse, better, not told apart. */
function tableOf(table: Table, columns: readonly Column[]): string {
  const measures = new Set(columns.flatMap(({ run }) => run[table].map(({ measure }) => measure)));
  const rows = [...measures].map((measure) => [
    measureLabel(measure),
    ...columns.map((column) => cellOf(table, measure, column)),
  ]);
  return markdown(['measure', ...columns.map(({ head }) => head)], rows);
}

function cellOf(table: Table, measure: string, column: Column): string {
  const { run, metric, by, scope = 'all', intervals = false } = column;
  const rows: readonly (Evaluation['responses'][number] | Evaluation['tokens'][number])[] = run[
    table
  ] as never;
  const mine = rows.filter((row) => row.measure === measure && row.scope === scope);
  const aggregationOf = (row: (typeof mine)[number]) => ('aggregation' in row ? row.aggregation : null);
  const row =
    by === undefined
      ? mine[0]
      : (by === 'sum' && mine.find((one) => aggregationOf(one) === 'own')) ||
        mine.find((one) => aggregationOf(one) === by);
  const estimate = row && new Map(Object.entries(row)).get(metric);
  if (!row || typeof estimate !== 'object' || estimate.value === null) return '';
  const { value, interval } = estimate;
  const pair = run.paired.find(
    ({ level, b, aggregation, metric: name }) =>
      level === LEVELS[table] && b === measure && aggregation === aggregationOf(row) && name === metric,
  );
  const sign =
    !pair || scope !== 'all'
      ? ''
      : pair.adjusted >= 0.05
        ? ' ='
        : (pair.difference.value ?? 0) > 0
          ? ' −'
          : ' +';
  const told = intervals && interval ? ` [${interval.map((end) => end.toFixed(3)).join(', ')}]` : '';
  return `${value.toFixed(3)}${told}${sign}`;
}

function costs(runs: readonly (readonly [name: string, run: Evaluation])[]): string {
  const [[, first]] = runs as [(typeof runs)[number]];
  const rows = first.efficiency.map(({ measure }) => [
    measureLabel(measure),
    ...runs.flatMap(([, { efficiency }]) => {
      const { seconds, relative } = efficiency.find((row) => row.measure === measure)!;
      return [seconds.value!.toFixed(3), relative.value!.toFixed(2)];
    }),
  ]);
  const heads = runs.flatMap(([name]) => [`${name}: seconds`, 'of the time to write']);
  return markdown(['measure', ...heads], rows);
}

const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

const AREA_HEADS = { max: 'largest token', sum: 'sum' } as const;

/** The first way to put tokens together with its interval, the mean and the last one for comparison. */
function areaColumns(run: Evaluation, first: 'max' | 'sum', last: 'max' | 'sum'): Column[] {
  return [
    { run, head: `${AREA_HEADS[first]}: AUROC`, metric: 'auroc', by: first, intervals: true },
    { run, head: 'mean of families', metric: 'auroc', by: first, scope: 'macro' },
    { run, head: 'average precision', metric: 'averagePrecision', by: first },
    { run, head: 'mean: AUROC', metric: 'auroc', by: 'mean' },
    { run, head: `${AREA_HEADS[last]}: AUROC`, metric: 'auroc', by: last },
  ];
}

const tokenColumns =
  (top3: string, top5: string, top1pct: string) =>
  (run: Evaluation, name: string): Column[] => [
    { run, head: `${name}3 highest`, metric: top3 },
    { run, head: '5 highest', metric: top5 },
    { run, head: '1 %', metric: top1pct },
    { run, head: '3 highest, mean of families', metric: top3, scope: 'macro' },
  ];

/** The tables of docs/results/benchmark.md, made of the evaluations beside it. */
export function resultTables(): Map<string, string> {
  const [cold, warm] = [load('wrong-answers/T0.2'), load('wrong-answers/T0.5')];
  const [answers, hot] = [load('all-answers/answers-T0.2'), load('all-answers/answers-T1')];
  const settings = load('ablations/T0.2');
  const reasoner = [load('reasoner/T0.2'), load('reasoner/T0.5')] as const;
  const both = (of: (run: Evaluation, name: string) => Column[]): Column[] => [
    ...of(cold, 'T = 0.2: '),
    ...of(warm, 'T = 0.5: '),
  ];
  return new Map([
    ['tokens', tableOf('tokens', both(tokenColumns('top3', 'top5', 'top1pct')))],
    [
      'tokens without first words',
      tableOf('tokens', both(tokenColumns('innerTop3', 'innerTop5', 'innerTop1pct'))),
    ],
    [
      'steps',
      tableOf(
        'steps',
        both((run, name) => [
          { run, head: `${name}summed`, metric: 'top1', by: 'sum' },
          { run, head: 'summed, mean of families', metric: 'top1', by: 'sum', scope: 'macro' },
          { run, head: 'largest token', metric: 'top1', by: 'max' },
        ]),
      ),
    ],
    ['pooled', tableOf('pooled', areaColumns(hot, 'max', 'sum'))],
    ['responses', tableOf('responses', areaColumns(answers, 'sum', 'max'))],
    [
      'settings',
      tableOf('tokens', [
        { run: settings, head: '3 highest', metric: 'top3', intervals: true },
        { run: settings, head: '5 highest', metric: 'top5', intervals: true },
        { run: settings, head: '1 %', metric: 'top1pct', intervals: true },
      ]),
    ],
    [
      'tokens of the embedded model',
      tableOf(
        'tokens',
        reasoner.flatMap((run, i) => [
          { run, head: `T = ${[0.2, 0.5][i]}: 3 highest`, metric: 'top3', intervals: true },
          { run, head: '1 %', metric: 'top1pct', intervals: true },
        ]),
      ),
    ],
    [
      'steps of the embedded model',
      tableOf(
        'steps',
        reasoner.flatMap((run, i) => [
          { run, head: `T = ${[0.2, 0.5][i]}: summed`, metric: 'top1', by: 'sum', intervals: true } as const,
          { run, head: 'largest token', metric: 'top1', by: 'max' } as const,
        ]),
      ),
    ],
    [
      'answers of the embedded model',
      tableOf('responses', areaColumns(load('reasoner/answers-T0.2'), 'sum', 'max')),
    ],
    [
      'steps in answers of the embedded model',
      tableOf('pooled', areaColumns(load('reasoner/answers-T0.2'), 'sum', 'max')),
    ],
    [
      'costs of the embedded model',
      costs([
        ['T = 0.2', reasoner[0]],
        ['T = 0.5', reasoner[1]],
      ]),
    ],
    [
      'costs',
      costs([
        ['T = 0.2', cold],
        ['T = 0.5', warm],
      ]),
    ],
  ]);
}
