import type { TopLevelSpec } from 'vega-lite';
import { standaloneSvg } from '../report/plots/svg.js';
import { ANSWER_LENGTH, type EscalationTable, QUESTION_LENGTH } from './escalation.js';

/** Palette of Okabe and Ito, which the colour-blind can distinguish. */
const COLOURS = ['#0072b2', '#888888', '#d55e00', '#009e73'];
const RANDOM = 'random';
const [WIDTH, HEIGHT] = [480, 320];

/** Right answers against the share of the questions that is handed on: the best score, and the controls. */
export function escalationPlot({ small, large, ways }: EscalationTable): Promise<string> {
  const best = ways.find(({ by }) => by !== ANSWER_LENGTH && by !== QUESTION_LENGTH);
  const shown = ways.filter((way) => way === best || way.by === ANSWER_LENGTH || way.by === QUESTION_LENGTH);
  const ends = (by: string) => [
    { by, share: 0, right: small.value },
    { by, share: 1, right: large.value },
  ];
  const values = [
    ...ends(RANDOM),
    ...shown.flatMap(({ by, points }) => [
      ...ends(by),
      ...points.map(({ share, accuracy }) => ({ by, share, right: accuracy.value })),
    ]),
  ];
  const domain = [best?.by ?? RANDOM, RANDOM, ANSWER_LENGTH, QUESTION_LENGTH];
  const spec: TopLevelSpec = {
    width: WIDTH,
    height: HEIGHT,
    data: { values },
    mark: { type: 'line', point: { size: 40 }, strokeWidth: 2 },
    encoding: {
      x: { field: 'share', type: 'quantitative', title: 'questions handed on', axis: { format: '%' } },
      y: {
        field: 'right',
        type: 'quantitative',
        title: 'right answers',
        axis: { format: '%' },
        scale: { zero: false },
      },
      color: {
        field: 'by',
        type: 'nominal',
        sort: null,
        scale: { domain, range: COLOURS },
        legend: { title: null, orient: 'bottom', columns: 2, labelLimit: 0 },
      },
    },
  };
  return standaloneSvg(spec);
}
