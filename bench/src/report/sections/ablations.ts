import { METHODS } from '../../measures/methods.js';
import { type Block, type FigureBlock, plainTable, type Section, UNMEASURED } from '../document.js';
import { groupBy } from '../group-by.js';
import { ALL, LEVELS, type Level, levelName, type MeasuredRow, metricLabel, rowsOf } from '../levels.js';
import { methodLabel, settingLabel, settingText, settingValue } from '../measure-label.js';
import { parseMeasure } from '../measure-name.js';
import { type Series, seriesPlot } from '../plots/series.js';
import { suiteTitle } from '../run-title.js';
import type { Run } from '../runs.js';

interface Point {
  readonly method: string;
  readonly setting: string;
  /** The other settings, which are the same along a line. */
  readonly fixed: string;
  readonly x: string;
  readonly row: MeasuredRow;
}

/** How much the choice of one setting matters, the others being the same. */
export function ablationSection(runs: readonly Run[]): Section | null {
  const groups = groupBy(runs, ({ evaluation }) => responsesOf(evaluation));
  const figures = [...groups.values()].flatMap((group) =>
    LEVELS.flatMap((level) => levelFigures(level, group)),
  );
  if (figures.length === 0) return null;
  const lead =
    'Measures of one method that differ in one setting, on the same responses. Bands are 95 % intervals. The paper’s ablations are figures without numbers.';
  return { id: 'ablations', title: 'Ablations', blocks: [{ kind: 'text', text: lead }, ...figures] };
}

/** The same for runs that scored the same responses: all that can differ otherwise is which measures did. */
function responsesOf({ suite, temperature, model, settings }: Run['evaluation']): string {
  const others = Object.entries(settings).filter(([name]) => !['measures', 'samples'].includes(name));
  return JSON.stringify([suite, temperature, model.fingerprint, others.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function levelFigures(level: Level, runs: readonly Run[]): Block[] {
  const points = runs.flatMap(({ evaluation }) =>
    rowsOf(evaluation, level)
      .filter((row) => row.scope === ALL && row.main)
      .flatMap(pointsOf),
  );
  const lines = [
    ...groupBy(points, ({ method, setting, fixed }) => `${method} ${setting} ${fixed}`).values(),
  ];
  return (
    lines
      .map((line) => [...groupBy(line, ({ x }) => x).values()].map(([first]) => first!))
      .map((line) => line.sort((a, b) => order(a.x) - order(b.x)))
      // Two forms, say, are no quantity to draw a line over.
      .filter((line) => line.length > 1 && line.some(({ x }) => Number.isFinite(Number(x))))
      .map((line) => ablationFigure(level, line, runs[0]!))
  );
}

/** A measure is a point on the line of each of its settings. */
function pointsOf(row: MeasuredRow): Point[] {
  const { method, settings: given } = parseMeasure(row.measure);
  const settings = [...(METHODS.get(method)?.settings(given) ?? given)];
  return settings.map(([setting, x]) => ({
    method,
    setting,
    fixed: settings
      .filter(([key]) => key !== setting)
      .map(([key, value]) => settingText(method, key, value))
      .join(', '),
    x: settingValue(x),
    row,
  }));
}

/** Words, such as `all`, come after the numbers. */
const order = (x: string): number => (Number.isFinite(Number(x)) ? Number(x) : Number.MAX_VALUE);

/** Settings that all measures of a line share, in brackets; the others are the defaults. */
function settingsTold(line: readonly Point[], varied: string): string {
  const { method, row } = line[0]!;
  const told = [...parseMeasure(row.measure).settings]
    .filter(([key]) => key !== varied)
    .map(([key, value]) => settingText(method, key, value));
  return told.length === 0 ? '' : ` (${told.join(', ')})`;
}

/** What the values of a level's metrics are. */
const UNITS: Readonly<Record<Level, string>> = {
  token: 'share of wrong responses',
  step: 'share of wrong responses',
  response: 'area under the curve',
  claim: 'area under the curve',
};

function ablationFigure(level: Level, line: readonly Point[], run: Run): FigureBlock {
  const { method, setting, fixed, row } = line[0]!;
  const { suite, temperature } = run.evaluation;
  const metrics = [...row.metrics.keys()];
  const estimates = (metric: string) =>
    line.map((point) => ({
      x: point.x,
      ...(point.row.metrics.get(metric) ?? UNMEASURED),
    }));
  const series = metrics.map(
    (metric): Series => ({
      label: metricLabel(metric),
      points: estimates(metric).map(({ x, value, interval }) => ({ x, y: value, interval })),
    }),
  );
  const symbol = settingLabel(method, setting);
  const rest = settingsTold(line, setting);
  return {
    kind: 'figure',
    title: `${methodLabel(method)}${rest} over ${symbol}, ${levelName(level, suite)}`,
    description: `${suiteTitle(suite)}, ${run.label}, T = ${temperature}${fixed === '' ? '' : `, ${fixed}`}: ${metrics.map(metricLabel).join(', ')} for ${symbol} = ${line.map(({ x }) => x).join(', ')}.`,
    spec: seriesPlot(series, { x: symbol, y: UNITS[level], places: 'ordinal' }),
    data: plainTable(
      `${methodLabel(method)}${rest}`,
      [symbol, ...metrics.map(metricLabel), 'n'],
      line.map((point) => ({
        label: point.x,
        cells: [
          ...metrics.map((metric) => ({
            ...(point.row.metrics.get(metric) ?? UNMEASURED),
            digits: 3,
          })),
          point.row.n,
        ],
      })),
    ),
  };
}
