import { table } from '#bench/markdown-table.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { type AnswerSet, casesOf } from './answer-set.js';
import { hitRows, shown } from './hit-tables.js';

const MEASURES = ['nll', 'entropy', 'margin', 'adversarial'];
const METRIC = 'top3';
/** The paper's tables of MATH at T = 0.2, its models of 7 and 8 billion parameters and the larger ones. */
const TABLES = ['tab:math', 'tab:larger_model'];

/** The paper's numbers beside ours: wrong answers whose first wrong step holds one of the 3 highest tokens. */
export function paperTable(sets: readonly AnswerSet[]): string {
  const theirs = readPaper()
    .tables.filter(({ id, level }) => TABLES.includes(id) && level === 'token')
    .flatMap(({ dataset, models }) =>
      models.map(({ name, rows }) => [
        ...[name, `paper, ${dataset}`],
        ...MEASURES.map(
          (measure) =>
            rows
              .find((row) => row.measure === measure)
              ?.metrics.get(METRIC)
              ?.value?.toFixed(2) ?? '',
        ),
        '',
      ]),
    );
  const ours = sets.map((set) => {
    const rows = hitRows(casesOf(set), set.measures);
    const cell = (measure: string): string =>
      shown(rows.find((row) => row.measure === measure)?.cells[METRIC], 2);
    return [set.model, set.name, ...MEASURES.map(cell), cell('chance')];
  });
  return table(['model', 'data', ...MEASURES.map(measureLabel), 'chance'], [...theirs, ...ours]);
}
