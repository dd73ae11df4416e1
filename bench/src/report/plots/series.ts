import type { TopLevelSpec } from 'vega-lite';
import type { Interval } from '../document.js';

/** Narrow enough for a phone: there a wider picture would shrink, and its text with it. */
export const PLOT_WIDTH = 320;
const PLOT_HEIGHT = 260;

export interface Series {
  readonly label: string;
  readonly points: readonly SeriesPoint[];
}

export interface SeriesPoint {
  readonly x: string | number;
  readonly y: number | null;
  /** Which line of the series it is on, if there are several. */
  readonly line?: number;
  readonly interval?: Interval | null;
}

interface Axes {
  readonly x: string;
  readonly y: string;
  /** Places in an order, evenly apart, or numbers. */
  readonly places: 'ordinal' | 'quantitative';
  /** Numbers of both axes are shares, written in percent. */
  readonly percent?: boolean;
}

/** Length of labels that do not fit side by side. */
const LONG_LABEL = 8;

/** Series are told apart by dashes and symbols too, not by colour alone. */
const COLOURS = ['var(--series-1)', 'var(--series-2)', 'var(--series-3)'];
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 3],
];

/** Lines, with bands where there are intervals. */
export function seriesPlot(series: readonly Series[], { x, y, places, percent = false }: Axes): TopLevelSpec {
  const values = series.flatMap(({ label, points }) =>
    points.map((point) => ({
      series: label,
      x: point.x,
      y: point.y,
      line: point.line ?? 0,
      low: point.interval?.[0] ?? null,
      high: point.interval?.[1] ?? null,
    })),
  );
  const format = percent ? { format: '.0%' } : {};
  const domain = series.map(({ label }) => label);
  const colour = { field: 'series', type: 'nominal', sort: null, scale: { domain, range: COLOURS } } as const;
  const across =
    places === 'ordinal'
      ? ({ field: 'x', type: 'ordinal', sort: null, title: x, axis: { labelAngle: 0 } } as const)
      : ({
          field: 'x',
          type: 'quantitative',
          title: x,
          axis: { tickCount: 5, labelFlush: false, ...format },
        } as const);
  const axis = { tickCount: 5, ...format } as const;
  const up = { type: 'quantitative', title: y, scale: { zero: false }, axis } as const;
  // One for bands and lines together, drawn as the lines are.
  const legend = {
    title: null,
    orient: 'bottom',
    columns: domain.some((label) => label.length > LONG_LABEL) ? 1 : 3,
    labelLimit: 0,
    symbolType: 'stroke',
    symbolOpacity: 1,
    symbolSize: 350,
    symbolStrokeWidth: 2.5,
  } as const;
  return {
    width: PLOT_WIDTH,
    height: PLOT_HEIGHT,
    autosize: { type: 'fit', contains: 'padding' },
    data: { values },
    layer: [
      {
        transform: [{ filter: 'datum.low !== null && datum.high !== null' }],
        mark: { type: 'area', opacity: 0.16 },
        encoding: {
          x: across,
          y: { field: 'low', ...up },
          y2: { field: 'high' },
          color: { ...colour, legend },
        },
      },
      {
        mark: { type: 'line', strokeWidth: 2.5, point: places === 'ordinal' ? { size: 45 } : false },
        encoding: {
          x: across,
          y: { field: 'y', ...up },
          detail: { field: 'line', type: 'nominal' },
          color: { ...colour, legend },
          strokeDash: {
            field: 'series',
            type: 'nominal',
            sort: null,
            scale: { domain, range: DASHES },
            legend,
          },
        },
      },
    ],
  };
}
