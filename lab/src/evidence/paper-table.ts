import { table } from '#bench/markdown-table.js';
import type { Evaluation } from '#bench/records/evaluation.js';
import { type MeasuredRow, rowsOf } from '#bench/report/levels.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { formatEstimate } from '#bench/statistics/estimate.js';

const MEASURES = ['nll', 'entropy', 'margin', 'adversarial'];
const METRIC = 'top3';
/** The paper's tables of MATH at T = 0.2, its models of 7 and 8 billion parameters and the larger ones. */
const TABLES = ['tab:math', 'tab:larger_model'];

/** The paper's numbers beside those of runs: wrong answers whose first wrong step holds one of the 3 highest tokens. */
export function paperTable(evaluations: ReadonlyMap<string, Evaluation>): string {
  const row = (model: string, data: string, rows: readonly MeasuredRow[]): string[] => [
    model,
    data,
    ...MEASURES.map((measure) => {
      const found = rows.find((one) => one.scope === 'all' && one.measure === measure)?.metrics.get(METRIC);
      return found && found.value !== null ? formatEstimate({ ...found, value: found.value }, 2) : '';
    }),
  ];
  const theirs = readPaper()
    .tables.filter(({ id, level }) => TABLES.includes(id) && level === 'token')
    .flatMap(({ dataset, models }) => models.map(({ name, rows }) => row(name, `paper, ${dataset}`, rows)));
  const ours = [...evaluations].map(([name, evaluation]) =>
    row(evaluation.model.name, name, rowsOf(evaluation, 'token')),
  );
  return table(['model', 'data', ...MEASURES.map(measureLabel)], [...theirs, ...ours]);
}
