import type { ComparedRow } from '../../evaluate/compare-runs.js';
import { plainTable, type Row, type Section } from '../document.js';
import { type Run, runTitle } from '../runs.js';
import { scoreLabel } from './answers-section.js';

/** A run beside the first one. */
export interface Comparison {
  readonly first: Run;
  readonly second: Run;
  readonly rows: readonly ComparedRow[];
}

const LEAD =
  'The second run less the first, on the questions that both have and that are right or wrong in both. Accuracy: McNemar’s exact test. AUROC: of the score that is the best of its measure in the first run; whole questions are drawn again. An interval that leaves out 0 is a difference.';

/** Two runs side by side. */
export function comparedSection(comparisons: readonly Comparison[]): Section | null {
  if (comparisons.length === 0) return null;
  const tables = comparisons.map(({ first, second, rows }) =>
    plainTable(
      `${runTitle(second)}, less ${runTitle(first)}`,
      ['', 'First', 'Second', 'Difference', 'p', 'Questions'],
      rows.map(
        (row): Row => ({
          label: comparedLabel(row),
          cells: [
            { ...row.first, digits: 3 },
            { ...row.second, digits: 3 },
            { ...row.difference, digits: 3, signed: true },
            row.p === null ? null : { p: row.p },
            row.n,
          ],
        }),
      ),
    ),
  );
  return { id: 'compared', title: 'Side by side', blocks: [{ kind: 'text', text: LEAD }, ...tables] };
}

export const comparedLabel = ({ score }: ComparedRow): string =>
  score === null ? 'Accuracy' : `AUROC of ${scoreLabel(score)}`;
