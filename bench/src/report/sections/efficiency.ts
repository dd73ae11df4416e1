import { formatBytes } from 'flinch/internals';
import { type FigureBlock, plainTable, type Section } from '../document.js';
import { measureLabel } from '../measure-label.js';
import type { Paper } from '../paper/paper-tables.js';
import { perRun } from '../per-run.js';
import { barPlot } from '../plots/bars.js';
import type { Run } from '../runs.js';

/** Time and memory that a measure adds to a response. */
export function efficiencySection(runs: readonly Run[], { efficiency }: Paper): Section | null {
  const figures = perRun(runs, ({ evaluation }) =>
    evaluation.efficiency.length === 0 ? [] : [efficiencyFigure(evaluation, efficiency)],
  );
  if (figures.length === 0) return null;
  const { random, model, hardware } = efficiency;
  const lead = `Added time of each measure on its own, in seconds and relative to the time of generating the response, and by how much the memory of the process that scores grew at most (on the CPU; a GPU’s own memory is not in it, nor that of NLI models, cross-encoders and sentence encoders). The paper’s numbers are for ${model} on ${hardware}, Rand. Pert. with l = ${random.draws}; its other values are only in a figure, and it does not report the time of generation.`;
  return {
    id: 'efficiency',
    title: 'Efficiency',
    blocks: [{ kind: 'text', text: lead }, ...figures],
  };
}

function efficiencyFigure(
  { efficiency: rows, machine, settings }: Run['evaluation'],
  paper: Paper['efficiency'],
): FigureBlock {
  const counts = [...new Set(rows.map(({ n }) => n))].sort((a, b) => a - b);
  const bars = rows.map(({ measure, relative }) => ({ label: measureLabel(measure), estimate: relative }));
  const device = typeof settings.device === 'string' ? `, ${settings.device}` : '';
  return {
    kind: 'figure',
    title: `Added time, relative to generation: n = ${counts.join(' or ')} responses`,
    description: `Bars of the added time of ${rows.length} measures, relative to generation. ${machine.cpu}, ${machine.cores} cores${device}.`,
    spec: barPlot(bars, 'of the time of generation'),
    open: true,
    data: plainTable(
      'Added time and memory per response',
      ['Measure', 'Seconds', 'Relative to generation', 'Peak memory', 'n', 'The paper'],
      rows.map(({ measure, seconds, relative, memory, n }) => ({
        label: measureLabel(measure),
        cells: [
          { ...seconds, digits: 4 },
          { ...relative, digits: 3 },
          memory === null ? null : formatBytes(memory),
          n,
          ofPaper(measure, paper),
        ],
      })),
    ),
  };
}

function ofPaper(measure: string, { random, adversarial }: Paper['efficiency']): string | null {
  if (measure === 'random') return `${random.seconds.toFixed(2)} s`;
  return measure === 'adversarial'
    ? `${adversarial.seconds.toFixed(2)} s, ${adversarial.gigabytes} GB`
    : null;
}
