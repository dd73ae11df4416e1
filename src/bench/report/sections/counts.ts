import { type Cell, plainTable, type Section, type TableBlock } from '../document.js';
import { isLabelled } from '../levels.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

/** From problems to cases: where they went. */
export function countsSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation: { counts } }) =>
    counts.length === 0 ? [] : [countsTable(counts)],
  );
  if (blocks.length === 0) return null;
  const lead =
    'Truncated responses are in no table. Of wrong ones, those are cases whose first wrong step was located; a spanning one covers more than one sentence.';
  const labelled = runs.some(({ evaluation }) => isLabelled(evaluation.suite)) ? ` ${OF_LABELS}` : '';
  return {
    id: 'counts',
    title: 'Accuracy and counts',
    blocks: [{ kind: 'text', text: `${lead}${labelled}` }, ...blocks],
  };
}

const OF_LABELS =
  'A response of ProcessBench is right where no step of it is labelled wrong; its final answer may be right where one is.';

function countsTable(counts: Run['evaluation']['counts']): TableBlock {
  const reasons = [...new Set(counts.flatMap(({ rejected }) => Object.keys(rejected)))];
  return plainTable(
    'From problems to cases',
    [
      'Subset',
      'Problems',
      'Truncated',
      'Right',
      'Wrong',
      'Accuracy',
      'Located',
      ...reasons.map((reason) => `Rejected: ${REASONS.get(reason) ?? reason}`),
      'Spanning',
    ],
    counts.map((count) => ({
      label: count.scope,
      cells: [
        count.problems,
        count.truncated,
        count.correct,
        count.wrong,
        { ...count.accuracy, digits: 3 },
        count.located,
        ...reasons.map((reason): Cell => count.rejected[reason] ?? 0),
        count.spanning,
      ],
    })),
  );
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['none_named', 'no step was named'],
  ['no_match', 'its text is not in the response'],
  ['unreadable', 'the judge could not be read'],
]);
