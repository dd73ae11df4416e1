import type { TopLevelSpec } from 'vega-lite';
import { standaloneSvg } from '#bench/report/plots/svg.js';
import type { Row } from './comparison.js';

/** Palette of Okabe and Ito, which the colour-blind can distinguish. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#888888', '#cc79a7'];
const [WIDTH, HEIGHT] = [640, 400];
/** Shares of width and height: points that are nearer than this have one label. */
const NEAR = [0.02, 0.045] as const;

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
  const extent = (values: readonly number[]): number => Math.max(...values) - Math.min(...values);
  const all = [...lines, ...arms.map(point)];
  const size = {
    tokens: extent(all.map(({ tokens }) => tokens)),
    right: extent(all.map(({ right }) => right)),
  };
  const near = (a: ReturnType<typeof point>, b: ReturnType<typeof point>): boolean =>
    Math.abs(a.tokens - b.tokens) <= NEAR[0] * size.tokens &&
    Math.abs(a.right - b.right) <= NEAR[1] * size.right;
  const labels: { tokens: number; right: number; name: string }[] = [];
  for (const arm of arms.toSorted((a, b) => b.accuracy.value - a.accuracy.value)) {
    const beside = labels.find((label) => near(label, point(arm)));
    if (beside) beside.name += `\n${arm.name}`;
    else labels.push({ ...point(arm), name: arm.name });
  }
  const x = {
    field: 'tokens',
    type: 'quantitative',
    title: 'tokens written for each problem',
    scale: { zero: false, padding: 30 },
  } as const;
  const y = {
    field: 'right',
    type: 'quantitative',
    title: 'right answers',
    axis: { format: '%' },
    scale: { zero: false, padding: 20 },
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
            legend: { title: 'no guard, votes of 1, 2, …', titleLimit: 0, orient: 'bottom' },
          },
        },
      },
      {
        data: { values: arms.map(point) },
        mark: { type: 'point', shape: 'diamond', filled: true, size: 70, color: 'var(--ink)' },
        encoding: { x, y },
      },
      {
        data: { values: labels },
        mark: { type: 'text', align: 'center', dy: 14, fontSize: 11, lineBreak: '\n', color: 'var(--ink)' },
        encoding: { x, y, text: { field: 'name' } },
      },
    ],
  };
  return standaloneSvg(spec);
}
