import { type FigureBlock, plainTable, type Section } from '../document.js';
import { measureLabel } from '../measure-label.js';
import type { Paper } from '../paper/paper-tables.js';
import { perRun } from '../per-run.js';
import { barPlot } from '../plots/bars.js';
import type { Run } from '../runs.js';

/** What a measure adds to the time of a response. */
export function efficiencySection(runs: readonly Run[], { efficiency }: Paper): Section | null {
  const figures = perRun(runs, ({ evaluation }) =>
    evaluation.efficiency.length === 0 ? [] : [efficiencyFigure(evaluation)],
  );
  if (figures.length === 0) return null;
  const { random, adversarial, model, hardware } = efficiency;
  const lead = `Added time of each measure on its own, relative to the time of generating the response. The paper reports ${random.seconds.toFixed(2)} s for Rand. Pert. (l = ${random.draws}) and ${adversarial.seconds.toFixed(2)} s for Adv. Pert. per case, ${model} on ${hardware}; its other values are only in a figure, and it does not report the time of generation.`;
  return {
    id: 'efficiency',
    title: 'Efficiency',
    blocks: [{ kind: 'text', text: lead }, ...figures],
  };
}

function efficiencyFigure({ efficiency: rows, machine }: Run['evaluation']): FigureBlock {
  const counts = [...new Set(rows.map(({ n }) => n))].sort((a, b) => a - b);
  const bars = rows.map(({ measure, relative }) => ({ label: measureLabel(measure), estimate: relative }));
  return {
    kind: 'figure',
    title: `Added time, relative to generation: n = ${counts.join(' or ')} responses`,
    description: `Bars of the added time of ${rows.length} measures, relative to generation. ${machine.cpu}, ${machine.cores} cores.`,
    spec: barPlot(bars, 'of the time of generation'),
    open: true,
    data: plainTable(
      'Added time per response',
      ['Measure', 'Seconds', 'Relative to generation', 'n'],
      rows.map(({ measure, seconds, relative, n }) => ({
        label: measureLabel(measure),
        cells: [{ ...seconds, digits: 4 }, { ...relative, digits: 3 }, n],
      })),
    ),
  };
}
