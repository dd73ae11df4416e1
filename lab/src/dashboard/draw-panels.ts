import type { TopLevelSpec } from 'vega-lite';
import { standaloneSvg } from '#bench/report/plots/svg.js';
import type { Panel } from './panels.js';
import type { Series } from './query-range.js';

export interface DrawnPanel extends Omit<Panel, 'targets'> {
  readonly series: readonly Series[];
}

/** Palette of Okabe and Ito, which the colour-blind can distinguish. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#888888', '#e69f00'];
const [WIDTH, HEIGHT, COLUMNS] = [360, 130, 2];

const LOG = { type: 'log' } as const;
const LINEAR = { zero: true } as const;
const SHARE = { domain: [0, 1] };

/** Panels beside each other as one SVG, each with its own legend. */
export const drawPanels = (panels: readonly DrawnPanel[]): Promise<string> =>
  standaloneSvg({
    columns: COLUMNS,
    bounds: 'flush',
    spacing: { row: 80, column: 70 },
    concat: panels.map(draw),
    resolve: { scale: { color: 'independent' } },
  });

function draw({ title, series, isPercent, isLog, threshold }: DrawnPanel): Unit {
  const values = series.flatMap(({ name, points }) =>
    points
      .filter(([, value]) => !isLog || value > 0)
      .map(([seconds, value]) => ({ time: 1000 * seconds, value, name })),
  );
  const y = {
    field: 'value',
    type: 'quantitative',
    title: null,
    axis: { tickCount: 4, ...(isPercent && { format: '%' }), ...(isLog && { format: '~e' }) },
    scale: isPercent ? SHARE : isLog ? LOG : LINEAR,
  } as const;
  return {
    title,
    width: WIDTH,
    height: HEIGHT,
    layer: [
      {
        data: { values },
        mark: { type: 'line', strokeWidth: 1.5 },
        encoding: {
          x: { field: 'time', type: 'temporal', title: null, axis: { format: '%H:%M', tickCount: 5 } },
          y,
          color: {
            field: 'name',
            type: 'nominal',
            sort: null,
            scale: { range: COLOURS },
            legend: { title: null, orient: 'bottom', columns: 3, symbolType: 'stroke' },
          },
        },
      },
      {
        data: { values: threshold === null ? [] : [{ value: threshold }] },
        mark: { type: 'rule', strokeDash: [4, 3], color: 'var(--faint)' },
        encoding: { y },
      },
    ],
  };
}

type Unit = Extract<TopLevelSpec, { concat: unknown }>['concat'][number];
