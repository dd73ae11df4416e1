import { type Block, plainTable, type Row, type Section } from '../document.js';
import { perRun, type Run } from '../runs.js';

type Json = Run['evaluation']['settings'][string];

/** All that the numbers depend on, and the command that makes them again. */
export function settingsSection(runs: readonly Run[]): Section {
  const lead = 'All settings that the numbers depend on, including every choice that the paper leaves open.';
  return {
    id: 'settings',
    title: 'Settings and commands',
    blocks: [{ kind: 'text', text: lead }, ...perRun(runs, settingsBlocks)],
  };
}

/** Settings that an evaluation has also beside its settings. */
const TOLD_ABOVE: readonly string[] = ['suite', 'temperature', 'model'];
/** Settings that leave nothing out where they are not given. */
const ALL_BY_DEFAULT: readonly string[] = ['subsets', 'limit', 'perSubset'];

function settingsBlocks({ evaluation }: Run): Block[] {
  const { model, machine, command, suite, temperature } = evaluation;
  const others = Object.fromEntries(
    Object.entries(evaluation.settings).filter(([name]) => !TOLD_ABOVE.includes(name)),
  );
  const rows: Row[] = [
    { label: 'suite', cells: [suite] },
    { label: 'temperature', cells: [String(temperature)] },
    { label: 'model', cells: [`${model.name}, ${model.parameters.toLocaleString('en-US')} parameters`] },
    { label: 'fingerprint', cells: [model.fingerprint] },
    { label: 'RMS of its embeddings', cells: [String(Number(model.embeddingRms.toPrecision(4)))] },
    { label: 'machine', cells: [`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`] },
    ...flatten(others, '').map(([label, value]) => ({ label, cells: [value] })),
  ];
  return [
    { kind: 'code', text: command },
    plainTable('Settings', ['Setting', 'Value'], rows, { folded: true }),
  ];
}

/** Nested settings as `name.name`, a list in one line. */
function flatten(value: Json, name: string): [name: string, value: string][] {
  if (value === null) return [[name, ALL_BY_DEFAULT.includes(name) ? 'all' : 'none']];
  if (typeof value !== 'object') return [[name, String(value)]];
  if (Array.isArray(value)) return [[name, value.map((item) => JSON.stringify(item)).join(', ')]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, name === '' ? key : `${name}.${key}`),
  );
}
