import type { Evaluation } from '../../run/evaluation.js';
import type { Row, Section, TableBlock } from '../document.js';
import { groupBy } from '../group-by.js';
import { isChoice, WHOLE } from '../levels.js';
import { measureLabel } from '../measure-label.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

type PooledRow = Evaluation['pooled'][number];

/** Steps of all responses in one heap, as a live threshold meets them. */
export function pooledSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation: { pooled } }) =>
    pooled.length === 0 ? [] : pooledTables(pooled),
  );
  if (blocks.length === 0) return null;
  const lead =
    'Steps of right and wrong responses in one heap, up to and with the first wrong one, which is what is to be found. Unlike the tables above this asks whether scores of different responses can be compared, as one threshold for all of them supposes.';
  return { id: 'pooled', title: 'Pooled step detection', blocks: [{ kind: 'text', text: lead }, ...blocks] };
}

function pooledTables(pooled: readonly PooledRow[]): TableBlock[] {
  const whole = pooled.filter(({ scope }) => WHOLE.includes(scope));
  const rest = pooled.filter(({ scope }) => !WHOLE.includes(scope) && !isChoice(scope));
  return [
    ...(whole.length === 0 ? [] : [pooledTable(whole, 'Is this step the first wrong one?', false)]),
    ...(rest.length === 0 ? [] : [pooledTable(rest, 'The same by subset', true)]),
  ];
}

function pooledTable(pooled: readonly PooledRow[], caption: string, folded: boolean): TableBlock {
  const scopes = [...groupBy(pooled, ({ scope }) => scope)];
  const lines = [...groupBy(pooled, lineKey).values()].map((rows) => rows[0]!);
  const row = (line: PooledRow): Row => ({
    label: `${measureLabel(line.measure)}${line.aggregation === 'own' ? '' : `, ${line.aggregation}`}`,
    cells: scopes.flatMap(([, rows]) => {
      const found = rows.find((one) => lineKey(one) === lineKey(line));
      return (['auroc', 'averagePrecision'] as const).map((metric) => ({
        ...(found?.[metric] ?? { value: null, interval: null }),
        digits: 3,
        best: found?.[metric].value != null && found[metric].value === highest(rows, metric),
      }));
    }),
  });
  return {
    kind: 'table',
    caption,
    stub: 'Measure, of a step’s tokens',
    groups: scopes.map(([scope, rows]) => ({
      label: scope,
      detail: `${rows[0]!.steps} steps, ${rows[0]!.positives} wrong`,
      columns: ['AUROC', 'AP'],
    })),
    parts: [lines.map(row)],
    notes: [],
    folded,
  };
}

const lineKey = ({ measure, aggregation }: PooledRow): string => `${measure} ${aggregation}`;

const highest = (rows: readonly PooledRow[], metric: 'auroc' | 'averagePrecision'): number =>
  Math.max(...rows.map((row) => row[metric].value ?? Number.NEGATIVE_INFINITY));
