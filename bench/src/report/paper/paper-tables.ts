import { z } from 'zod';
import type { WrittenEstimate } from '../../records/evaluation.js';
import { readAsset } from '../assets.js';
import { groupBy } from '../group-by.js';
import { ALL, type Level, type MeasuredRow } from '../levels.js';

/** File of the paper's numbers. Sources: NOTICE.md beside it. */
const FILE = 'paper-tables.json';

const schema = z.object({
  efficiency: z.object({
    model: z.string(),
    hardware: z.string(),
    random: z.object({ seconds: z.number(), draws: z.int() }),
    /** Cost in addition to generation. */
    adversarial: z.object({ seconds: z.number(), gigabytes: z.number() }),
  }),
  tables: z.array(
    z.object({
      id: z.string(),
      caption: z.string(),
      temperature: z.number().nullable(),
      /** Wrong responses, as declared. */
      responses: z.int().nullable(),
      /** Half width of the interval at p = 0.5, as the caption says. */
      halfWidth: z.number().nullable(),
    }),
  ),
  accuracies: z.array(
    z.object({ table: z.string(), dataset: z.string(), model: z.string(), accuracy: z.number() }),
  ),
  cells: z.array(
    z.object({
      table: z.string(),
      dataset: z.string(),
      level: z.enum(['token', 'sentence', 'statement', 'response']),
      model: z.string(),
      modelLabel: z.string(),
      method: z.string(),
      methodLabel: z.string(),
      metric: z.enum(['top1', 'top2', 'top3', 'top5', 'top1pct', 'auroc', 'ap']),
      value: z.number(),
      bold: z.boolean(),
    }),
  ),
});
type PaperFile = z.output<typeof schema>;
type PaperCell = PaperFile['cells'][number];

/** One table of the paper: a level of a tabular, on one data set. */
export interface PaperTable {
  readonly id: string;
  readonly dataset: string;
  readonly level: Level;
  readonly caption: string;
  readonly temperature: number | null;
  readonly responses: number | null;
  readonly models: readonly PaperModel[];
  readonly methods: readonly PaperMethod[];
  /** Metrics by their names in the evaluation. */
  readonly metrics: readonly string[];
  readonly digits: number;
}

export interface PaperModel {
  readonly name: string;
  readonly label: string;
  readonly accuracy: number | null;
  /** Digits of its numbers, as many as the paper prints. */
  readonly digits: number;
  /** The paper's numbers in the shape of ours. */
  readonly rows: readonly MeasuredRow[];
}

export interface PaperMethod {
  /** Name of the measure here. */
  readonly measure: string;
  readonly label: string;
}

export interface Paper {
  readonly tables: readonly PaperTable[];
  readonly efficiency: PaperFile['efficiency'];
}

const LEVEL: Readonly<Record<PaperCell['level'], Level>> = {
  token: 'token',
  sentence: 'step',
  statement: 'claim',
  response: 'response',
};
const OUR_NAMES: ReadonlyMap<string, string> = new Map([
  ['rand_pert', 'random'],
  ['adv_pert', 'adversarial'],
  ['graph_uncertainty', 'graph'],
  ['ap', 'averagePrecision'],
]);
const ourName = (name: string): string => OUR_NAMES.get(name) ?? name;
/** Our name of the paper's method. The nodes of the graph are claims for statements, else steps. */
const measureOf = ({ method, level }: Pick<PaperCell, 'method' | 'level'>): string =>
  method === 'graph_uncertainty' && level === 'statement' ? 'graph-claims' : ourName(method);

export function readPaper(): Paper {
  const file = schema.parse(JSON.parse(readAsset(FILE)));
  const tables = file.tables.flatMap((table) => {
    const own = file.cells.filter((cell) => cell.table === table.id);
    return [...groupBy(own, ({ dataset, level }) => `${dataset} ${level}`).values()].map((cells) =>
      paperTable(table, cells, file.accuracies),
    );
  });
  return { tables, efficiency: file.efficiency };
}

function paperTable(
  { id, caption, temperature, responses }: PaperFile['tables'][number],
  cells: readonly PaperCell[],
  accuracies: PaperFile['accuracies'],
): PaperTable {
  const { dataset, level } = cells[0]!;
  const digits = level === 'token' || level === 'sentence' ? 2 : 3;
  const methods = new Map(cells.map((cell) => [measureOf(cell), cell.methodLabel]));
  return {
    id,
    dataset,
    level: LEVEL[level],
    caption,
    temperature,
    responses,
    models: [...groupBy(cells, ({ model }) => model)].map(([name, own]) => ({
      name,
      label: own[0]!.modelLabel,
      accuracy:
        accuracies.find((row) => row.table === id && row.dataset === dataset && row.model === name)
          ?.accuracy ?? null,
      digits,
      rows: paperRows(own, responses),
    })),
    methods: [...methods].map(([measure, label]) => ({ measure, label })),
    metrics: [...new Set(cells.map(({ metric }) => ourName(metric)))],
    digits,
  };
}

const paperRows = (cells: readonly PaperCell[], n: number | null): MeasuredRow[] =>
  [...groupBy(cells, measureOf)].map(([measure, own]) => ({
    scope: ALL,
    measure,
    aggregation: null,
    main: true,
    n,
    metrics: new Map(
      own.map(({ metric, value }): [string, WrittenEstimate] => [ourName(metric), { value, interval: null }]),
    ),
  }));
