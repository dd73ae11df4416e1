import type { Evaluation } from '../../records/evaluation.js';
import { type FigureBlock, plainTable, type Section } from '../document.js';
import { perRun } from '../per-run.js';
import { barPlot } from '../plots/bars.js';
import type { Run } from '../runs.js';

type RivalRow = Evaluation['rivals'][number];

const PLACES: Readonly<Record<RivalRow['place'], string>> = {
  wrong: 'first wrong step',
  before: 'before it',
  right: 'right responses',
};

/** How probable the other token is where the adversary moves a response most. */
export function rivalsSection(runs: readonly Run[]): Section | null {
  const figures = perRun(runs, ({ evaluation: { rivals } }) =>
    rivals.length === 0 ? [] : [rivalsFigure(rivals)],
  );
  if (figures.length === 0) return null;
  const lead =
    'The rival of a token is the other token whose probability grows most under the perturbation of Adv. Pert. Of each response one token is taken, the one that the perturbation moves most: in the first wrong step, before it in the same response, and in right responses.';
  return { id: 'rivals', title: 'Rivals', blocks: [{ kind: 'text', text: lead }, ...figures] };
}

function rivalsFigure(rows: readonly RivalRow[]): FigureBlock {
  const label = ({ place, n }: RivalRow): string => `${PLACES[place]} (n = ${n})`;
  return {
    kind: 'figure',
    title: 'Probability of the rival of the most perturbed token',
    description: `Bars of the mean probability before the perturbation: ${rows.map(label).join(', ')}.`,
    spec: barPlot(
      rows.map((row) => ({ label: label(row), estimate: row.before })),
      'probability of the rival',
    ),
    open: true,
    data: plainTable(
      'Means over the responses',
      [
        'Most perturbed token',
        'Probability of the rival',
        'After the perturbation',
        'Score of the token',
        'n',
      ],
      rows.map(({ place, before, after, fall, n }) => ({
        label: PLACES[place],
        cells: [{ ...before, digits: 4 }, { ...after, digits: 4 }, { ...fall, digits: 6 }, n],
      })),
    ),
  };
}
