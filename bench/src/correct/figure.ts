import type { TopLevelSpec } from 'vega-lite';
import { standaloneSvg } from '../report/plots/svg.js';
import type { Row } from './comparison.js';

/** Of Okabe and Ito, which are told apart by the colour-blind too. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#888888', '#cc79a7'];
const [WIDTH, HEIGHT] = [560, 360];

/**
 * Right answers against tokens, as SVG: each temperature without a guard is a line of more and more votes, each guarded
 * way a point with its name.
 */
export function tokensFigure(
  ladders: readonly { readonly temperature: number; readonly rungs: readonly Row[] }[],
  arms: readonly Row[],
): Promise<string> {
  const point = ({ accuracy, tokensPerProblem }: Row) => ({
    tokens: tokensPerProblem,
    right: accuracy.value,
  });
  const lines = ladders.flatMap(({ temperature, rungs }) =>
    rungs.map((rung) => ({ ...point(rung), line: temperature === 0 ? 'greedy' : `T = ${temperature}` })),
  );
  const x = { field: 'tokens', type: 'quantitative', title: 'tokens written for each problem' } as const;
  const y = {
    field: 'right',
    type: 'quantitative',
    title: 'right answers',
    axis: { format: '%' },
    scale: { zero: false },
  } as const;
  const spec: TopLevelSpec = {
    width: WIDTH,
    height: HEIGHT,
    layer: [
      {
        data: { values: lines },
        mark: { type: 'line', point: { size: 45 }, strokeWidth: 2 },
        encoding: {
          x,
          y,
          color: {
            field: 'line',
            type: 'nominal',
            sort: null,
            scale: { range: COLOURS },
            legend: { title: 'no guard, votes of 1, 2, …' },
          },
        },
      },
      {
        data: { values: arms.map((row) => ({ ...point(row), name: row.name })) },
        encoding: { x, y },
        layer: [
          { mark: { type: 'point', shape: 'diamond', filled: true, size: 70, color: 'var(--ink)' } },
          {
            mark: { type: 'text', align: 'left', dx: 7, fontSize: 11, color: 'var(--ink)' },
            encoding: { text: { field: 'name' } },
          },
        ],
      },
    ],
  };
  return standaloneSvg(spec);
}
