import type { TopLevelSpec } from 'vega-lite';
import type { Estimate } from '../levels.js';
import { PLOT_WIDTH } from './series.js';

export interface Bar {
  readonly label: string;
  readonly estimate: Estimate;
}

/** A bar with its label above it: beside it a long one would leave no room on a phone. */
const BAR_HEIGHT = 40;
const LABEL_DY = -12;
const BAR_OFFSET = 6;
/** Height of the axis with its labels. */
const AXIS_HEIGHT = 44;

/** Bars from zero, one below the other, with their intervals. */
export function barPlot(bars: readonly Bar[], x: string): TopLevelSpec {
  const values = bars.map(({ label, estimate: { value, interval } }) => ({
    label,
    value,
    low: interval?.[0] ?? null,
    high: interval?.[1] ?? null,
  }));
  const down = { field: 'label', type: 'nominal', sort: null, axis: null } as const;
  const across = { type: 'quantitative', title: x, axis: { tickCount: 5, labelFlush: false } } as const;
  return {
    width: PLOT_WIDTH,
    autosize: { type: 'fit', contains: 'padding' },
    height: AXIS_HEIGHT + BAR_HEIGHT * bars.length,
    data: { values },
    encoding: { y: down },
    layer: [
      {
        mark: { type: 'bar', height: 14, yOffset: BAR_OFFSET },
        encoding: { x: { field: 'value', ...across }, color: { value: 'var(--series-1)' } },
      },
      {
        transform: [{ filter: 'datum.low !== null && datum.high !== null' }],
        mark: { type: 'rule', strokeWidth: 1.5, yOffset: BAR_OFFSET },
        encoding: {
          x: { field: 'low', ...across },
          x2: { field: 'high' },
          color: { value: 'var(--ink)' },
        },
      },
      {
        mark: { type: 'text', align: 'left', dx: 2, dy: LABEL_DY, fontSize: 12 },
        encoding: { x: { datum: 0, ...across }, text: { field: 'label' }, color: { value: 'var(--ink)' } },
      },
    ],
  };
}
