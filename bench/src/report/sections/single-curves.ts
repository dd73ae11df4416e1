import type { Evaluation } from '../../records/evaluation.js';
import { type FigureBlock, plainTable } from '../document.js';
import { groupBy } from '../group-by.js';
import { measureLabel } from '../measure-label.js';
import { seriesPlot } from '../plots/series.js';

type CaseStudy = Evaluation['cases'][number];

/** Right and wrong responses of a figure, each. */
const SHOWN = 3;
/** Places of a curve. */
const PLACES = 50;

/** The first right and the first wrong case studies, each response scaled to its own lowest and highest score. */
export function singleCurves(measure: string, cases: readonly CaseStudy[]): FigureBlock[] {
  const curves = [true, false].flatMap((correct) =>
    cases
      .flatMap(({ verdict, tokens }) => {
        const scores = tokens[measure];
        return verdict.of === 'answer' && verdict.correct === correct && scores?.length ? [scores] : [];
      })
      .slice(0, SHOWN)
      .map((scores, line) => ({ correct, line, peaks: peaksOf(minMax(scores)) })),
  );
  if (curves.length === 0) return [];
  const kind = (correct: boolean): string => (correct ? 'right' : 'wrong');
  const positionOf = (place: number): number => place / (PLACES - 1);
  const figure: FigureBlock = {
    kind: 'figure',
    title: `${measureLabel(measure)}, single responses`,
    description:
      'Score by position in the response, from the lowest of the response (0) to its highest (1): the first right and wrong case studies.',
    spec: seriesPlot(
      [...groupBy(curves, ({ correct }) => kind(correct))].map(([label, own]) => ({
        label,
        points: own.flatMap(({ line, peaks }) =>
          peaks.map((y, place) => ({ x: positionOf(place), y, line })),
        ),
      })),
      {
        x: 'position (0: first token, 1: last)',
        y: 'score (0: low, 1: high)',
        places: 'quantitative',
      },
    ),
    data: plainTable(
      'Score, from the lowest of the response to its highest',
      ['Place', ...curves.map(({ correct, line }) => `${kind(correct)} ${line + 1}`)],
      Array.from({ length: PLACES }, (_, place) => ({
        label: positionOf(place).toFixed(2),
        cells: curves.map(({ peaks }) => ({ value: peaks[place]!, interval: null, digits: 4 })),
      })),
    ),
  };
  return [figure];
}

/** (s − lowest) / (highest − lowest). What a schedule skipped ranks below all others: it is 0, as the lowest. */
function minMax(scores: readonly (number | null)[]): number[] {
  const known = scores.filter((score) => score !== null);
  const [lowest, highest] = [Math.min(...known), Math.max(...known)];
  return scores.map((score) =>
    score === null || highest === lowest ? 0 : (score - lowest) / (highest - lowest),
  );
}

/** The highest of the tokens at each place: one token's peak is what there is to see. */
function peaksOf(scores: readonly number[]): number[] {
  return Array.from({ length: PLACES }, (_, place) => {
    const from = Math.floor((place * scores.length) / PLACES);
    const to = Math.max(from + 1, Math.floor(((place + 1) * scores.length) / PLACES));
    return Math.max(...scores.slice(from, to));
  });
}
