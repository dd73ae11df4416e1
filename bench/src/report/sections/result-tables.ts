import { comesLabelled } from '../../suites/suite.js';
import { comparisonTable, type Layout, type ModelColumns, variantsTable } from '../comparison-table.js';
import { type Block, plainTable, type Section, type TableBlock, UNMEASURED } from '../document.js';
import { groupBy } from '../group-by.js';
import {
  ALL,
  isChoice,
  LEVELS,
  type Level,
  levelLabel,
  MACRO,
  MAIN_METRIC,
  type MeasuredRow,
  metricLabel,
  rowsOf,
  subsetsTold,
  WHOLE,
} from '../levels.js';
import { measureLabel } from '../measure-label.js';
import { matchPaper, type PaperMatch } from '../paper/match.js';
import type { Paper, PaperTable } from '../paper/paper-tables.js';
import { type Run, suiteTitle } from '../runs.js';

/** One section for each suite and temperature: runs that can stand in one table. */
export function resultSections(runs: readonly Run[], paper: Paper): Section[] {
  const groups = groupBy(runs, ({ evaluation }) => `${evaluation.suite} ${evaluation.temperature}`);
  return [...groups.values()].flatMap((group): Section[] => {
    const { suite, temperature } = group[0]!.evaluation;
    const blocks = LEVELS.flatMap((level) => levelBlocks(level, group, paper));
    if (blocks.length === 0) return [];
    const id = `results-${suite}-${String(temperature).replace('.', '-')}`;
    return [{ id, title: `${suiteTitle(suite)}, T = ${temperature}`, blocks }];
  });
}

function levelBlocks(level: Level, group: readonly Run[], paper: Paper): Block[] {
  const measured = group.filter(({ evaluation }) => rowsOf(evaluation, level).length > 0);
  if (measured.length === 0) return [];
  const matches = measured.map((run) => matchPaper(run.evaluation, level, paper));
  const tables = matchedTables(level, measured, matches, paper);
  const byScope = measured.flatMap((run) => scopeTables(level, run, paper, tables.length > 0));
  const others =
    level === 'token' ? measured.flatMap((run) => [...innerTable(run), ...roundingTable(run)]) : [];
  return [
    { kind: 'heading', text: levelLabel(level, group[0]!.evaluation.suite) },
    ...tables,
    ...byScope,
    ...others,
  ];
}

/** A table for each table of the paper, with a column for each run; one without the paper where it has none. */
function matchedTables(
  level: Level,
  runs: readonly Run[],
  matches: readonly (PaperMatch | null)[],
  paper: Paper,
): TableBlock[] {
  const pairs = runs.map((run, i) => ({ run, match: matches[i] ?? null }));
  const groups = groupBy(pairs, ({ match }) => (match ? `${match.table.id} ${match.table.dataset}` : ''));
  return [...groups.values()].flatMap((group) => {
    const match = group[0]!.match;
    if (match === null && group.length === 1) return [];
    const columns = group.map(({ run, match: own }) => ({
      ...scopeColumns(level, run, own?.scope ?? ALL),
      label: run.label,
      paper: own?.model ?? null,
    }));
    const compared = columns.filter((column) => column.paper !== null).map(({ label }) => label);
    const dataset = match?.table.dataset;
    return comparisonTable(ourLayout(match?.table ?? genericTable(level, paper)), columns, {
      caption: dataset
        ? `${dataset}: ours${compared.length > 0 ? ', the paper’s below' : ''}`
        : 'All subsets, by run',
      notes: dataset ? [compared.length > 0 ? besides(compared) : NO_SAME_MODEL] : [],
    });
  });
}

const besides = (models: readonly string[]): string =>
  `“paper” is the paper’s number for ${models.join(', ')}, on its own responses and with its own judge.`;
const NO_SAME_MODEL =
  'The paper uses this data at this temperature, but with other models. Its numbers are at the end and are not comparable cell by cell.';

/** The same layout where the paper has no such data: all together, then each subset. */
function scopeTables(level: Level, run: Run, paper: Paper, folded: boolean): TableBlock[] {
  const layout = ourLayout(genericTable(level, paper));
  const scopes = [...new Set(rowsOf(run.evaluation, level).map(({ scope }) => scope))];
  const columns = (names: readonly string[]) => names.map((scope) => scopeColumns(level, run, scope));
  const whole = scopes.filter((scope) => WHOLE.includes(scope));
  const subsets = scopes.filter((scope) => !WHOLE.includes(scope) && !isChoice(scope));
  const tables: (TableBlock | null)[] = [];
  if (!folded && whole.length > 0) {
    tables.push(comparisonTable(layout, columns(whole), { caption: `${run.label}, all subsets` }));
  }
  if (subsets.length > 0) {
    tables.push(comparisonTable(layout, columns(subsets), { caption: `${run.label}, by subset`, folded }));
  }
  tables.push(
    variantsTable(layout, columns(whole), {
      caption: `${run.label}, other aggregations of tokens, other settings`,
    }),
  );
  tables.push(choicesTable(level, run, layout, scopes.filter(isChoice)));
  return tables.filter((table) => table !== null);
}

/** The paper lists eleven subsets of BBH and counts ten: what each choice of ten would give. */
function choicesTable(
  level: Level,
  { label, evaluation }: Run,
  { methods }: Layout,
  scopes: readonly string[],
): TableBlock | null {
  if (scopes.length === 0) return null;
  const metric = MAIN_METRIC[level];
  const rows = rowsOf(evaluation, level).filter(({ main }) => main);
  const measures = methods.filter(({ measure }) => rows.some((row) => row.measure === measure));
  return plainTable(
    `${label}, ${metricLabel(metric)}: mean over each selection of ten subsets`,
    ['Subsets', ...measures.map((method) => method.label)],
    scopes.map((scope) => ({
      label: scope.replace('macro without', 'all without'),
      cells: measures.map(({ measure }) => {
        const row = rows.find((one) => one.scope === scope && one.measure === measure);
        return { ...(row?.metrics.get(metric) ?? UNMEASURED), digits: 3 };
      }),
    })),
    { folded: true },
  );
}

function scopeColumns(level: Level, { evaluation }: Run, scope: string): ModelColumns {
  const all = rowsOf(evaluation, level);
  const rows = all.filter((row) => row.scope === scope);
  return {
    label: scope,
    accuracy: comesLabelled(evaluation.suite) ? null : accuracyOf(evaluation, scope),
    n: commonest(rows.map(({ n }) => n)),
    subsets: subsetsTold(scope, all.filter(hasValue), evaluation),
    rows,
    paper: null,
  };
}

const hasValue = ({ metrics }: MeasuredRow): boolean =>
  [...metrics.values()].some(({ value }) => value !== null);

const accuracyOf = ({ counts }: Run['evaluation'], scope: string): number | null =>
  counts.find((count) => count.scope === scope)?.accuracy.value ?? null;

/** Number that most lines share, for the heading; the others state their own. */
function commonest(counts: readonly (number | null)[]): number | null {
  const groups = [...groupBy(counts, String).values()].sort((a, b) => b.length - a.length);
  return groups[0]?.[0] ?? null;
}

/** The paper's methods of this level in its order; final answers and statements have tables of their own. */
function genericTable(level: Level, { tables }: Paper): PaperTable {
  const table = tables.find((one) => one.level === level);
  if (!table) throw new Error(`the paper has no table of level ${level}`);
  return table;
}

/** Layout with as many digits as intervals have. */
const ourLayout = (table: PaperTable): Layout => ({ ...table, digits: 3 });

/** Whether the highest tokens tell more than that a step can be begun in many ways. */
function innerTable({ label, evaluation }: Run): TableBlock[] {
  const rows = evaluation.tokens.filter(({ scope }) => scope === ALL);
  if (rows.length === 0) return [];
  const macro = new Map(
    evaluation.tokens.filter(({ scope }) => scope === MACRO).map((row) => [row.measure, row]),
  );
  return [
    plainTable(
      `${label}: without the first word of each step`,
      ['Method', 'Top 3', 'Top 5', 'Top 1 %', ...(macro.size > 0 ? ['Top 3, mean over the subsets'] : [])],
      rows.map(({ measure, innerTop3, innerTop5, innerTop1pct }) => ({
        label: measureLabel(measure),
        cells: [innerTop3, innerTop5, innerTop1pct, macro.get(measure)?.innerTop3]
          .filter((estimate) => estimate !== undefined)
          .map((estimate) => ({ ...estimate, digits: 3 })),
      })),
    ),
  ];
}

/** “1 %” is not said to be rounded up, down or to the nearest. */
function roundingTable({ label, evaluation }: Run): TableBlock[] {
  const rows = evaluation.tokens.filter(({ scope }) => scope === ALL);
  if (rows.length === 0) return [];
  const estimates = rows.map(({ measure, top1pct, top1pctFloor, top1pctRound }) => ({
    label: measureLabel(measure),
    cells: [top1pct, top1pctFloor, top1pctRound].map((estimate) => ({ ...estimate, digits: 3 })),
  }));
  return [
    plainTable(
      `${label}: rounding of 1 % of the tokens, which the paper does not specify`,
      ['Method', 'up (main result)', 'down', 'to the nearest'],
      estimates,
      { folded: true },
    ),
  ];
}
