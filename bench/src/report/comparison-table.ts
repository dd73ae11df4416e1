import { SUBSTITUTES } from '../measures/parse-measure.js';
import { best } from './best.js';
import {
  type Cell,
  type ColumnGroup,
  type EstimateCell,
  type Row,
  type TableBlock,
  UNMEASURED,
} from './document.js';
import { LEVEL_NAMES, type MeasuredRow, metricLabel } from './levels.js';
import { measureLabel, partsOf } from './measure-label.js';
import type { PaperMethod, PaperModel, PaperTable } from './paper/paper-tables.js';

/** The methods and metrics of one of the paper's tables, to be filled with anyone's numbers. */
export type Layout = Pick<PaperTable, 'level' | 'methods' | 'metrics' | 'digits'>;

/** The columns of one model, or of one subset. */
export interface ModelColumns {
  readonly label: string;
  readonly accuracy: number | null;
  readonly n: number | null;
  /** Number of subsets in a mean over subsets. */
  readonly subsets: string | null;
  readonly rows: readonly MeasuredRow[];
  /** The paper's numbers for the same, which stand beside. */
  readonly paper: PaperModel | null;
}

interface Line {
  readonly measure: string;
  /** `null`: the measure's usual one. */
  readonly aggregation: string | null;
  readonly label: string;
}

interface TableOptions {
  readonly caption: string;
  readonly notes?: readonly string[];
  readonly folded?: boolean;
}

/**
 * Rows are the paper's methods in its order; under a line what it has not: other measures, and streaming schedules. The
 * highest of each column is marked, ties all of them, as the paper does.
 */
export function comparisonTable(
  layout: Layout,
  columns: readonly ModelColumns[],
  options: TableOptions,
): TableBlock {
  const main = layout.methods.flatMap((method) => paperLine(method, columns));
  return fill(layout, columns, [main, furtherLines(main, columns).filter(isUsual)], options);
}

/** Rows that {@link comparisonTable} leaves out: other aggregations, other settings; `null` without any. */
export function variantsTable(
  layout: Layout,
  columns: readonly ModelColumns[],
  options: TableOptions,
): TableBlock | null {
  const lines = furtherLines([], columns).filter((line) => !isUsual(line));
  return lines.length === 0 ? null : fill(layout, columns, [lines], { ...options, folded: true });
}

function fill(
  layout: Layout,
  columns: readonly ModelColumns[],
  parts: readonly (readonly Line[])[],
  options: TableOptions,
): TableBlock {
  const lines = parts.flat();
  const marks = columns.map(({ rows, paper }) => ({
    ours: highest(layout, lines, rows),
    paper: highest(layout, lines, paper?.rows ?? []),
  }));
  const row = (line: Line): Row => ({
    label: line.label,
    cells: columns.flatMap((column, i) =>
      layout.metrics.map((metric): Cell => cell(layout, line, metric, column, marks[i]!)),
    ),
  });
  return {
    kind: 'table',
    caption: options.caption,
    stub: 'Method',
    groups: columns.map((column) => group(layout, column)),
    parts: parts.map((part) => part.map(row)).filter((part) => part.length > 0),
    notes: options.notes ?? [],
    folded: options.folded ?? false,
  };
}

/** The paper's own table, by the same code as ours. */
export const paperComparison = (table: PaperTable, folded: boolean): TableBlock =>
  comparisonTable(
    table,
    table.models.map(({ label, accuracy, rows }) => ({
      label,
      accuracy,
      n: table.responses,
      subsets: null,
      rows,
      paper: null,
    })),
    { caption: `${table.dataset}, ${LEVEL_NAMES[table.level]}. The paper: ${table.caption}`, folded },
  );

const group = ({ metrics }: Layout, { label, accuracy, n, subsets }: ModelColumns): ColumnGroup => ({
  label,
  detail:
    [accuracy === null ? null : `Acc ${accuracy.toFixed(2)}`, subsets, n === null ? null : `n = ${n}`]
      .filter((part) => part !== null)
      .join(', ') || null,
  columns: metrics.map(metricLabel),
});

/**
 * A method's line; if only its substitute was run, the substitute's, by its own name. Empty if neither is
 * known.
 */
function paperLine({ measure, label }: PaperMethod, columns: readonly ModelColumns[]): Line[] {
  const substitute = SUBSTITUTES.find(({ method }) => method === measure)?.name;
  const ours = columns.some(({ rows }) => rows.some((row) => row.measure === measure && row.main));
  const stand = columns.flatMap(({ rows }) => rows.filter((row) => row.measure === substitute && row.main));
  if (!ours && stand.length > 0 && substitute !== undefined) {
    return [{ measure: substitute, aggregation: null, label: `${measureLabel(substitute)} (for ${label})` }];
  }
  const known = ours || columns.some(({ paper }) => paper?.rows.some((row) => row.measure === measure));
  return known ? [{ measure, aggregation: null, label }] : [];
}

/** Lines that are not in the paper: other measures, and other aggregations. */
function furtherLines(main: readonly Line[], columns: readonly ModelColumns[]): Line[] {
  const lines = new Map<string, Line>();
  for (const row of columns.flatMap(({ rows }) => rows)) {
    const { measure, aggregation: how } = row;
    if (row.main && main.some((line) => line.measure === measure)) continue;
    const aggregation = row.main ? null : how;
    const label = how === null || how === 'own' ? measureLabel(measure) : `${measureLabel(measure)}, ${how}`;
    lines.set(`${measure} ${aggregation}`, { measure, aggregation, label });
  }
  return [...lines.values()];
}

const SCHEDULE_SETTINGS: readonly string[] = ['block', 'window', 'form'];

/** A measure as it is by default, or as it is while a model writes. */
const isUsual = ({ measure, aggregation }: Line): boolean =>
  aggregation === null &&
  [...partsOf(measure).settings.keys()].every((key) => SCHEDULE_SETTINGS.includes(key));

const find = (rows: readonly MeasuredRow[], { measure, aggregation }: Line): MeasuredRow | undefined =>
  rows.find(
    (row) => row.measure === measure && (aggregation === null ? row.main : row.aggregation === aggregation),
  );

/** Highest value by metric, if one stands out. */
type Highest = ReadonlyMap<string, number | null>;

function highest({ metrics }: Layout, lines: readonly Line[], rows: readonly MeasuredRow[]): Highest {
  const all = lines.flatMap((line) => find(rows, line) ?? []);
  return new Map(metrics.map((metric) => [metric, best(all.map((row) => row.metrics.get(metric)?.value))]));
}

function cell(
  { digits }: Layout,
  line: Line,
  metric: string,
  { rows, paper, n }: ModelColumns,
  marks: { readonly ours: Highest; readonly paper: Highest },
): EstimateCell {
  const row = find(rows, line);
  const estimate = row?.metrics.get(metric) ?? UNMEASURED;
  const { value } = estimate;
  const method = SUBSTITUTES.find(({ name }) => name === line.measure)?.method ?? line.measure;
  const theirs =
    paper && line.aggregation === null
      ? find(paper.rows, { ...line, measure: method })?.metrics.get(metric)?.value
      : undefined;
  return {
    ...estimate,
    digits,
    best: value !== null && value === marks.ours.get(metric),
    n: row && row.n !== n ? row.n : null,
    paper:
      theirs === undefined || theirs === null
        ? null
        : { value: theirs, digits: paper?.digits ?? digits, best: theirs === marks.paper.get(metric) },
  };
}
