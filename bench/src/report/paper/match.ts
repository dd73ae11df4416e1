import type { Evaluation } from '../../records/evaluation.js';
import type { Suite } from '../../suites/suite.js';
import { ALL, type Level, rowsOf } from '../levels.js';
import type { Paper, PaperModel, PaperTable } from './paper-tables.js';

/** The paper's data sets by the names of suites here; behind a colon a subset. */
const DATASETS: Readonly<Partial<Record<Suite['name'], readonly string[]>>> = {
  math: ['MATH', 'MATH-3subsets', 'MATH:algebra'],
  bbh: ['BBH', 'BBH:logical_deduction_five_objects'],
  factscore: ['FactScore'],
};
/** Taken where the paper names none for final answers; for statements any will do. */
const MAIN_TEMPERATURE = 0.2;

/** The table of the paper that a run can stand in. */
export interface PaperMatch {
  readonly table: PaperTable;
  /** The paper's numbers of the same model, if it has that. */
  readonly model: PaperModel | null;
  /** The scope of ours that the table is about. */
  readonly scope: string;
}

/** The paper's table on the data of a run at its temperature; one that has its model, where there is one. */
export function matchPaper(evaluation: Evaluation, level: Level, { tables }: Paper): PaperMatch | null {
  const { suite, temperature, model } = evaluation;
  const name = model.name.split('/').at(-1)?.toLowerCase();
  const rows = rowsOf(evaluation, level);
  const candidates = tables
    .filter((table) => table.level === level && datasetsOf(suite).includes(table.dataset))
    .filter((table) => level === 'claim' || (table.temperature ?? MAIN_TEMPERATURE) === temperature)
    .map((table) => ({
      table,
      model: table.models.find((one) => one.name.toLowerCase() === name) ?? null,
      scope: table.dataset.split(':')[1] ?? ALL,
    }))
    .filter(({ scope }) => rows.some((row) => row.scope === scope));
  return candidates.find((candidate) => candidate.model !== null) ?? candidates[0] ?? null;
}

/** The tables of the paper on the data of these runs, whatever the model and temperature. */
export const relatedTables = ({ tables }: Paper, evaluations: readonly Evaluation[]): PaperTable[] =>
  tables.filter(({ dataset }) => evaluations.some(({ suite }) => datasetsOf(suite).includes(dataset)));

const datasetsOf = (suite: string): readonly string[] =>
  Object.entries(DATASETS).find(([name]) => name === suite)?.[1] ?? [];
