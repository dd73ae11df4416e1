import type { TopLevelSpec } from 'vega-lite';
import { standaloneSvg } from '#bench/report/plots/svg.js';
import { percentileInterval, resample } from '#bench/statistics/bootstrap.js';
import { rank } from '#bench/statistics/ranking.js';
import { recallsAt } from '../recall.js';
import { completeMeasures } from './evaluation.js';
import { type Detector, describe, detectorLabel } from './labels.js';
import { LENGTH, type UnitSet } from './units.js';

/** The same in every panel: the paper's measure, the best on equations, and the simplest controls. */
const CURVES: readonly Detector[] = [
  ['adversarial', 'max'],
  ['adversarial', 'sum'],
  ['ccp-rules', 'sum'],
  ['nll', 'sum'],
  [LENGTH, 'own'],
];
/** Curve whose interval is drawn: five bands would hide each other. */
const [WITH_BAND] = CURVES;
const GRID = Array.from({ length: 51 }, (_, i) => i / 50);

interface Point {
  readonly panel: string;
  readonly curve: string;
  readonly x: number;
  readonly y: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** ROC curves as a picture, a panel for each set that the scorer has scored. */
export function rocFigure(sets: readonly UnitSet[]): Promise<string> {
  const scored = sets.map(completeMeasures).filter(({ columns }) => columns.some(same(WITH_BAND!)));
  return standaloneSvg(rocPlot(scored.flatMap(rocPoints)));
}

const same =
  ([measure, how]: Detector) =>
  ([otherMeasure, otherHow]: Detector): boolean =>
    measure === otherMeasure && how === otherHow;

function rocPoints(set: UnitSet): Point[] {
  const { answers, columns, units } = set;
  const wrong = units.map((unit) => unit[1] === 1);
  const groups = units.map(([answer]) => answer);
  const curves = CURVES.filter((curve) => columns.some(same(curve)));
  const rankings = curves.map((curve) => {
    const column = 2 + columns.findIndex(same(curve));
    return rank(
      units.map((unit) => unit[column]!),
      wrong,
      groups,
    );
  });
  return curves.flatMap((curve, i) => {
    const along = (multiplicities?: Uint32Array) => recallsAt(rankings[i]!, GRID, multiplicities);
    const band = curve === WITH_BAND ? resample(answers, along).map(percentileInterval) : null;
    return along().map((y, j) => {
      const [low, high] = band?.[j]?.interval ?? [];
      return {
        panel: panelOf(set),
        curve: detectorLabel(...curve),
        x: GRID[j]!,
        y,
        low: low ?? null,
        high: high ?? null,
      };
    });
  });
}

/** Separator of two lines, so that panels stay close. */
const BREAK = '|';
const panelOf = (set: UnitSet): string => {
  const [task, ...how] = describe(set);
  return [task, how.filter((part) => part !== '–').join(', ')].join(BREAK);
};

const SIZE = 210;
/**
 * Palette of Okabe and Ito, which the colour-blind can distinguish; dashes distinguish the curves in print.
 */
const COLOURS = ['#0072b2', '#56b4e9', '#009e73', '#d55e00', '#888888'];
const DASHES = [
  [1, 0],
  [6, 3],
  [1, 0],
  [6, 3],
  [2, 3],
];

function rocPlot(points: readonly Point[]): TopLevelSpec {
  const domain = CURVES.map((curve) => detectorLabel(...curve));
  const x = {
    field: 'x',
    type: 'quantitative',
    title: 'right units flagged',
    axis: { format: '%', tickCount: 5 },
  } as const;
  const y = {
    type: 'quantitative',
    title: 'wrong units found',
    axis: { format: '%', tickCount: 5 },
  } as const;
  const legend = {
    title: null,
    orient: 'bottom',
    labelLimit: 0,
    symbolType: 'stroke',
    symbolOpacity: 1,
    symbolSize: 350,
    symbolStrokeWidth: 2.5,
  } as const;
  const colour = {
    field: 'curve',
    type: 'nominal',
    sort: null,
    scale: { domain, range: COLOURS },
    legend,
  } as const;
  return {
    data: { values: [...points] },
    facet: {
      field: 'panel',
      type: 'nominal',
      sort: null,
      title: null,
      header: { labelExpr: `split(datum.label, '${BREAK}')` },
    },
    columns: 3,
    spec: {
      width: SIZE,
      height: SIZE,
      layer: [
        {
          data: {
            values: [
              { x: 0, y: 0 },
              { x: 1, y: 1 },
            ],
          },
          mark: { type: 'line', color: 'var(--faint)', strokeWidth: 1 },
          encoding: { x, y: { field: 'y', ...y } },
        },
        {
          transform: [{ filter: 'datum.low !== null' }],
          mark: { type: 'area', opacity: 0.16 },
          encoding: { x, y: { field: 'low', ...y }, y2: { field: 'high' }, color: colour },
        },
        {
          mark: { type: 'line', strokeWidth: 2 },
          encoding: {
            x,
            y: { field: 'y', ...y },
            color: colour,
            strokeDash: {
              field: 'curve',
              type: 'nominal',
              sort: null,
              scale: { domain, range: DASHES },
              legend,
            },
          },
        },
      ],
    },
  };
}
