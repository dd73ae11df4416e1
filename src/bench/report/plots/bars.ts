import type { TopLevelSpec } from 'vega-lite';
import type { Estimate } from '../levels.js';
import { PLOT_WIDTH } from './series.js';

export interface Bar {
  readonly label: string;
  readonly estimate: Estimate;
}

const BAR_HEIGHT = 26;
/** With its labels. */
const AXIS_HEIGHT = 44;

/** Bars from zero, one below the other, with their intervals. */
export function barPlot(bars: readonly Bar[], x: string): TopLevelSpec {
  const values = bars.map(({ label, estimate: { value, interval } }) => ({
    label,
    value,
    low: interval?.[0] ?? null,
    high: interval?.[1] ?? null,
  }));
  const down = {
    field: 'label',
    type: 'nominal',
    sort: null,
    title: null,
    axis: { labelLimit: 150 },
  } as const;
  const across = { type: 'quantitative', title: x, axis: { tickCount: 5 } } as const;
  return {
    width: PLOT_WIDTH,
    autosize: { type: 'fit', contains: 'padding' },
    height: AXIS_HEIGHT + BAR_HEIGHT * bars.length,
    data: { values },
    encoding: { y: down },
    layer: [
      {
        mark: { type: 'bar', height: { band: 0.62 } },
        encoding: { x: { field: 'value', ...across }, color: { value: 'var(--series-1)' } },
      },
      {
        transform: [{ filter: 'datum.low !== null && datum.high !== null' }],
        mark: { type: 'rule', strokeWidth: 1.5 },
        encoding: {
          x: { field: 'low', ...across },
          x2: { field: 'high' },
          color: { value: 'var(--ink)' },
        },
      },
    ],
  };
}
