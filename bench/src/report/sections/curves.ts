import type { Evaluation } from '../../records/evaluation.js';
import { type FigureBlock, plainTable, type Section } from '../document.js';
import { groupBy } from '../group-by.js';
import { measureLabel } from '../measure-label.js';
import { perRun } from '../per-run.js';
import { seriesPlot } from '../plots/series.js';
import type { Run } from '../runs.js';
import { singleCurves } from './single-curves.js';

type Curve = Evaluation['curves'][number];

/** Positions of high scores in a response, in right and in wrong ones. */
export function curvesSection(runs: readonly Run[]): Section | null {
  const figures = perRun(runs, ({ evaluation: { curves, cases } }) =>
    [...groupBy(curves, ({ measure }) => measure)].flatMap(([measure, own]) => [
      curveFigure(measure, own),
      ...singleCurves(measure, cases),
    ]),
  );
  if (figures.length === 0) return null;
  const lead =
    'Mean score by position in the response, for right and wrong responses. Both curves of a figure have one scale: 1 is the highest mean of either, unless the figure says otherwise. Beside them, single responses: the first three right and the first three wrong ones of the case studies, each scaled to its own lowest and highest score.';
  return { id: 'curves', title: 'Score curves', blocks: [{ kind: 'text', text: lead }, ...figures] };
}

function curveFigure(measure: string, curves: readonly Curve[]): FigureBlock {
  const isOld = curves.some(({ scale }) => scale === 'response');
  const places = Math.max(...curves.map(({ mean }) => mean.length));
  const at = (place: number, length: number): number => (length > 1 ? place / (length - 1) : 0);
  const name = ({ correct, n }: Curve): string => `${correct ? 'right' : 'wrong'} (n = ${n})`;
  const series = curves.map((curve) => ({
    label: name(curve),
    points: curve.mean.map((y, place) => ({ x: at(place, curve.mean.length), y })),
  }));
  return {
    kind: 'figure',
    title: measureLabel(measure),
    description: `Mean score by position in the response: ${curves.map(name).join(', ')}.${isOld ? ' Each response is divided by its own highest score.' : ''}`,
    spec: seriesPlot(series, {
      x: 'position (0: first token, 1: last)',
      y: isOld ? 'mean share of the highest score' : 'mean score (1: highest)',
      places: 'quantitative',
    }),
    data: plainTable(
      `Mean score, relative to the highest ${isOld ? 'of the response' : 'mean of either'}`,
      ['Place', ...curves.map(name)],
      Array.from({ length: places }, (_, place) => ({
        label: at(place, places).toFixed(2),
        cells: curves.map(({ mean }) => ({ value: mean[place] ?? null, interval: null, digits: 4 })),
      })),
    ),
  };
}
