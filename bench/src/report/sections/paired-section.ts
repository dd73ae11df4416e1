import type { Evaluation } from '../../records/evaluation.js';
import { plainTable, type Row, type Section, type TableBlock } from '../document.js';
import { groupBy } from '../group-by.js';
import { levelName, metricLabel } from '../levels.js';
import { measureLabel } from '../measure-label.js';
import { perRun, type Run } from '../runs.js';

type PairedRow = Evaluation['paired'][number];
/** Two measures on the same cases. */
export function pairedSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation: { paired, suite } }) => {
    const kinds = groupBy(
      paired,
      ({ level, aggregation }) => `${level} ${aggregation === 'own' ? 'sum' : aggregation}`,
    );
    const [main, others] = [true, false].map((is) =>
      [...kinds.values()].filter((rows) => isMain(rows) === is),
    );
    return [...(main ?? []), ...(others ?? [])].map((rows) => pairedTable(rows, suite));
  });
  if (blocks.length === 0) return null;
  const lead =
    'The first minus the second, on the same cases. Hits are compared by McNemar’s exact test. Areas, and hits shared among ties, are compared by a paired bootstrap, whose p is at least 2 / (resamples + 1). Holm: p corrected for all comparisons of the same table and metric; comparisons with measures at non-default settings form a separate family. In a large family, a corrected bootstrap p cannot be small.';
  return { id: 'paired', title: 'Paired comparisons', blocks: [{ kind: 'text', text: lead }, ...blocks] };
}

const AGGREGATION: ReadonlyMap<PairedRow['aggregation'], string> = new Map([
  ['sum', ', a measure’s own score or the sum over tokens'],
  ['own', ', a measure’s own score or the sum over tokens'],
  ['max', ', highest token'],
  ['mean', ', mean over tokens'],
]);

/** Whether a row is in a table of results. */
const isMain = ([row]: readonly PairedRow[]): boolean =>
  row?.aggregation !== 'max' && row?.aggregation !== 'mean' && row?.level !== 'pooled';

/** Longer ones are folded, and what is not the usual way to put tokens together. */
const OPEN_ROWS = 40;

function pairedTable(rows: readonly PairedRow[], suite: string): TableBlock {
  const { level, aggregation } = rows[0]!;
  return plainTable(
    `Paired, ${levelName(level, suite)}${AGGREGATION.get(aggregation) ?? ''}`,
    ['First – second', 'Metric', 'Difference', 'p', 'Holm', 'Test', 'n'],
    rows.map(
      ({ a, b, metric, difference, p, adjusted, test, n }): Row => ({
        label: `${measureLabel(a)} – ${measureLabel(b)}`,
        cells: [
          metricLabel(metric),
          { ...difference, digits: 3, signed: true },
          { p },
          { p: adjusted },
          test === 'mcnemar' ? 'McNemar' : 'bootstrap',
          n,
        ],
      }),
    ),
    { folded: rows.length > OPEN_ROWS || !isMain(rows) },
  );
}
