import type { Evaluation } from '../../records/evaluation.js';
import { best } from '../best.js';
import { type Row, type Section, type TableBlock, UNMEASURED } from '../document.js';
import { groupBy } from '../group-by.js';
import { isChoice, subsetsTold, WHOLE } from '../levels.js';
import { measureLabel } from '../measure-label.js';
import { perRun, type Run } from '../runs.js';

type PooledRow = Evaluation['pooled'][number];

/** Steps of all responses in one heap, as a live threshold meets them. */
export function pooledSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation }) =>
    evaluation.pooled.length === 0 ? [] : pooledTables(evaluation),
  );
  if (blocks.length === 0) return null;
  const lead =
    'Steps of right and wrong responses pooled together, up to and including the first wrong step, which is to be detected. Unlike the tables above, this tests whether scores of different responses are comparable, which a single threshold assumes.';
  return { id: 'pooled', title: 'Pooled step detection', blocks: [{ kind: 'text', text: lead }, ...blocks] };
}

function pooledTables(evaluation: Evaluation): TableBlock[] {
  const { pooled } = evaluation;
  const table = (rows: readonly PooledRow[], caption: string, folded: boolean): TableBlock[] =>
    rows.length === 0 ? [] : [pooledTable(rows, evaluation, caption, folded)];
  const whole = pooled.filter(({ scope }) => WHOLE.includes(scope));
  const rest = pooled.filter(({ scope }) => !WHOLE.includes(scope) && !isChoice(scope));
  return [
    ...table(whole, 'Is this step the first wrong one?', false),
    ...table(rest, 'The same by subset', true),
  ];
}

function pooledTable(
  pooled: readonly PooledRow[],
  evaluation: Evaluation,
  caption: string,
  folded: boolean,
): TableBlock {
  const scopes = [...groupBy(pooled, ({ scope }) => scope)];
  const lines = [...groupBy(pooled, lineKey).values()].map((rows) => rows[0]!);
  const row = (line: PooledRow): Row => ({
    label: `${measureLabel(line.measure)}${line.aggregation === 'own' ? '' : `, ${line.aggregation}`}`,
    cells: scopes.flatMap(([, rows]) => {
      const found = rows.find((one) => lineKey(one) === lineKey(line));
      return (['auroc', 'averagePrecision'] as const).map((metric) => ({
        ...(found?.[metric] ?? UNMEASURED),
        digits: 3,
        best:
          found?.[metric].value != null && found[metric].value === best(rows.map((one) => one[metric].value)),
      }));
    }),
  });
  return {
    kind: 'table',
    caption,
    stub: 'Measure, of a step’s tokens',
    groups: scopes.map(([scope, rows]) => ({
      label: scope,
      detail: [
        subsetsTold(
          scope,
          evaluation.pooled.filter(({ auroc }) => auroc.value !== null),
          evaluation,
        ),
        `${rows[0]!.steps} steps, ${rows[0]!.positives} wrong`,
      ]
        .filter((part) => part !== null)
        .join(', '),
      columns: ['AUROC', 'AP'],
    })),
    parts: [lines.map(row)],
    notes: [],
    folded,
  };
}

const lineKey = ({ measure, aggregation }: PooledRow): string => `${measure} ${aggregation}`;
