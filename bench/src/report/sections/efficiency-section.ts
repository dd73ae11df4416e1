import { formatBytes } from 'flinch/internals';
import { plainTable, type Section, type TableBlock } from '../document.js';
import { measureLabel } from '../measure-label.js';
import type { Paper } from '../paper/paper-tables.js';
import { perRun, type Run } from '../runs.js';

/** Time and memory that a measure adds to a response. */
export function efficiencySection(runs: readonly Run[], { efficiency }: Paper): Section | null {
  const tables = perRun(runs, ({ evaluation }) =>
    evaluation.efficiency.length === 0 ? [] : [efficiencyTable(evaluation, efficiency)],
  );
  if (tables.length === 0) return null;
  const { random, model, hardware } = efficiency;
  const lead = `Added time of each measure on its own, in seconds and relative to the time of generating the response, and by how much the memory of the process that scores grew at most (on the CPU; a GPU’s own memory is not in it, nor that of NLI models, cross-encoders and sentence encoders). The paper’s numbers are for ${model} on ${hardware}, Rand. Pert. with l = ${random.draws}; its other values are only in a figure, and it does not report the time of generation.`;
  return {
    id: 'efficiency',
    title: 'Efficiency',
    blocks: [{ kind: 'text', text: lead }, ...tables],
  };
}

function efficiencyTable(
  { efficiency: rows, machine, settings }: Run['evaluation'],
  paper: Paper['efficiency'],
): TableBlock {
  const device = typeof settings.device === 'string' ? `, ${settings.device}` : '';
  return plainTable(
    `Added time and memory per response: ${machine.cpu}, ${machine.cores} cores${device}`,
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
  );
}

function ofPaper(measure: string, { random, adversarial }: Paper['efficiency']): string | null {
  if (measure === 'random') return `${random.seconds.toFixed(2)} s`;
  return measure === 'adversarial'
    ? `${adversarial.seconds.toFixed(2)} s, ${adversarial.gigabytes} GB`
    : null;
}
