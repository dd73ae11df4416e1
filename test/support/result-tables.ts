import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { measureLabel } from '#bench/report/measure-label.js';

const estimate = z.object({
  value: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
});
const row = z.object({
  scope: z.enum(['all', 'macro']),
  measure: z.string(),
  aggregation: z.string().optional(),
  metrics: z.record(z.string(), estimate),
});
const paired = z.object({
  level: z.string(),
  metric: z.string(),
  b: z.string(),
  aggregation: z.string().nullable(),
  difference: z.number().nullable(),
  adjusted: z.number(),
});
const cost = z.object({ measure: z.string(), seconds: z.number(), relative: z.number() });

/** Part of the `evaluation.json` of a run that the tables show, by the same names. */
const runSchema = z.object({
  tokens: z.array(row).default([]),
  steps: z.array(row).default([]),
  responses: z.array(row).default([]),
  pooled: z.array(row).default([]),
  paired: z.array(paired).default([]),
  efficiency: z.array(cost).default([]),
});
type Run = z.output<typeof runSchema>;

const LEVELS = { tokens: 'token', steps: 'step', pooled: 'pooled', responses: 'response' } as const;
type Table = keyof typeof LEVELS;

interface Column {
  readonly head: string;
  readonly run: Run;
  readonly metric: string;
  /** Statistic of the tokens' scores; `sum` stands for a measure's own score if it has one. */
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
  const mine = run[table].filter((row) => row.measure === measure && row.scope === scope);
  const row =
    by === undefined
      ? mine[0]
      : (by === 'sum' && mine.find(({ aggregation }) => aggregation === 'own')) ||
        mine.find(({ aggregation }) => aggregation === by);
  const { value = null, interval = null } = row?.metrics[metric] ?? {};
  if (!row || value === null) return '';
  const pair = run.paired.find(
    ({ level, b, aggregation, metric: name }) =>
      level === LEVELS[table] &&
      b === measure &&
      aggregation === (row.aggregation ?? null) &&
      name === metric,
  );
  const sign =
    !pair || scope !== 'all' ? '' : pair.adjusted >= 0.05 ? ' =' : (pair.difference ?? 0) > 0 ? ' −' : ' +';
  const told = intervals && interval ? ` [${interval.map((end) => end.toFixed(3)).join(', ')}]` : '';
  return `${value.toFixed(3)}${told}${sign}`;
}

function costs(runs: readonly (readonly [name: string, run: Run])[]): string {
  const [[, first]] = runs as [(typeof runs)[number]];
  const rows = first.efficiency.map(({ measure }) => [
    measureLabel(measure),
    ...runs.flatMap(([, { efficiency }]) => {
      const { seconds, relative } = efficiency.find((row) => row.measure === measure)!;
      return [seconds.toFixed(3), relative.toFixed(2)];
    }),
  ]);
  const heads = runs.flatMap(([name]) => [`${name}: seconds`, 'of the time to write']);
  return markdown(['measure', ...heads], rows);
}

const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

const AREA_HEADS = { max: 'largest token', sum: 'sum' } as const;

/** The first way to put tokens together with its interval, the mean and the last one for comparison. */
function areaColumns(run: Run, first: 'max' | 'sum', last: 'max' | 'sum'): Column[] {
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
  (run: Run, name: string): Column[] => [
    { run, head: `${name}3 highest`, metric: top3 },
    { run, head: '5 highest', metric: top5 },
    { run, head: '1 %', metric: top1pct },
    { run, head: '3 highest, mean of families', metric: top3, scope: 'macro' },
  ];

/** The tables of docs/results/benchmark.md, made of docs/results/evaluations.json. */
export function resultTables(): Map<string, string> {
  const runs = z
    .record(z.string(), runSchema)
    .parse(JSON.parse(readFileSync('docs/results/evaluations.json', 'utf8')));
  const load = (name: string): Run => {
    const run = runs[name];
    if (!run) throw new Error(`evaluations.json: has no ${name}`);
    return run;
  };
  const temperatures = [
    ['T = 0.2', load('T0.2')],
    ['T = 0.5', load('T0.5')],
  ] as const;
  const answers = load('answers-T0.2');
  const both = (of: (run: Run, name: string) => Column[]): Column[] => [
    ...of(load('earlier-T0.2'), 'T = 0.2: '),
    ...of(load('earlier-T0.5'), 'T = 0.5: '),
  ];
  const settings = load('earlier-settings-T0.2');
  return new Map([
    [
      'tokens',
      tableOf(
        'tokens',
        temperatures.flatMap(([name, run]) => [
          { run, head: `${name}: 3 highest`, metric: 'top3', intervals: true },
          { run, head: '1 %', metric: 'top1pct', intervals: true },
        ]),
      ),
    ],
    [
      'steps',
      tableOf(
        'steps',
        temperatures.flatMap(([name, run]) => [
          { run, head: `${name}: summed`, metric: 'top1', by: 'sum', intervals: true } as const,
          { run, head: 'largest token', metric: 'top1', by: 'max' } as const,
        ]),
      ),
    ],
    ['answers', tableOf('responses', areaColumns(answers, 'sum', 'max'))],
    ['steps in answers', tableOf('pooled', areaColumns(answers, 'sum', 'max'))],
    ['costs', costs(temperatures)],
    ['varied wording: tokens', tableOf('tokens', both(tokenColumns('top3', 'top5', 'top1pct')))],
    [
      'varied wording: tokens without first words',
      tableOf('tokens', both(tokenColumns('innerTop3', 'innerTop5', 'innerTop1pct'))),
    ],
    ['varied wording: steps', tableOf('pooled', areaColumns(load('earlier-answers-T1'), 'max', 'sum'))],
    [
      'settings',
      tableOf('tokens', [
        { run: settings, head: '3 highest', metric: 'top3', intervals: true },
        { run: settings, head: '5 highest', metric: 'top5', intervals: true },
        { run: settings, head: '1 %', metric: 'top1pct', intervals: true },
      ]),
    ],
  ]);
}
