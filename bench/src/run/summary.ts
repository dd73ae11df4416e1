import { join } from 'node:path';
import { say } from 'flinch/internals';
import { table } from '../markdown-table.js';
import type { Evaluation } from '../records/evaluation.js';
import { rolloutsNamed, type Shard } from '../records/settings.js';
import { formatEstimate } from '../statistics/estimate.js';
import { comesLabelled } from '../suites/suite.js';
import { EVALUATION } from './run-folder.js';

/** Reports that a shard is done: results need all shards. */
export function printShard(folder: string, { index, of }: Shard, json: boolean): void {
  const text = json
    ? JSON.stringify({ folder, shard: index + 1, of })
    : `shard ${index + 1} of ${of} is done; once all are: flinch bench merge ${folder}`;
  say(`${text}\n`);
}

/** Prints the number of joined responses, and the work that is left for the stages. */
export function printJoined(
  folder: string,
  responses: number,
  left: Readonly<Record<string, number>>,
  json: boolean,
): void {
  const text = json
    ? JSON.stringify({ folder, responses, left })
    : [
        `${responses} responses are joined in ${folder}; left to do:`,
        ...Object.entries(left).flatMap(([stage, count]) => (count > 0 ? [`  ${stage} ${count}`] : [])),
      ].join('\n');
  say(`${text}\n`);
}

/** Prints the result of a run, for all subsets together; all else is in its folder. */
export function printSummary(folder: string, evaluation: Evaluation, json: boolean): void {
  const [counts] = evaluation.counts;
  const [claimCounts] = evaluation.claimCounts;
  const all = <T extends { readonly scope: string }>(rows: readonly T[]): T[] =>
    rows.filter(({ scope }) => scope === 'all');
  const tables = {
    tokens: all(evaluation.tokens),
    steps: all(evaluation.steps),
    responses: all(evaluation.responses),
    pooled: all(evaluation.pooled),
    claims: all(evaluation.claims),
    efficiency: evaluation.efficiency,
  };
  if (json) {
    const told = { evaluation: join(folder, EVALUATION), counts, claimCounts, ...tables };
    say(`${JSON.stringify(told)}\n`);
    return;
  }
  const answered = counts && answersLine(counts, evaluation);
  const claimed = claimCounts && claimsLine(claimCounts);
  const parts = [
    answered ?? claimed ?? 'no responses',
    table(
      ['the first wrong step holds one of the highest', '3 tokens', '5 tokens', '1 %'],
      tables.tokens.map((row) => [row.measure, show(row.top3), show(row.top5), show(row.top1pct)]),
    ),
    table(
      ['the first wrong step is among the highest', 'of its tokens', '1', '2', '3'],
      tables.steps.map((row) => [
        row.measure,
        row.aggregation,
        show(row.top1),
        show(row.top2),
        show(row.top3),
      ]),
    ),
    table(
      ['wrong responses score higher', 'of their tokens', 'AUROC', 'average precision'],
      tables.responses.map((row) => [
        row.measure,
        row.aggregation,
        show(row.auroc),
        show(row.averagePrecision),
      ]),
    ),
    table(
      ['first wrong steps score higher than right ones', 'of their tokens', 'AUROC', 'average precision'],
      tables.pooled.map((row) => [row.measure, row.aggregation, show(row.auroc), show(row.averagePrecision)]),
    ),
    table(
      ['unsupported claims score higher', 'of their tokens', 'AUROC', 'average precision'],
      tables.claims.map((row) => [row.measure, row.aggregation, show(row.auroc), show(row.averagePrecision)]),
    ),
    table(
      ['added', 'seconds', 'of the time to write'],
      tables.efficiency.map((row) => [row.measure, show(row.seconds), show(row.relative)]),
    ),
    `flinch bench report ${folder} writes tables and a page`,
  ];
  // A table without a row has two lines.
  say(`${parts.filter((part) => part.split('\n').length !== 2 || !part.startsWith('|')).join('\n\n')}\n`);
}

const show = ({ value, interval }: Evaluation['counts'][number]['accuracy']): string =>
  formatEstimate({ value: value ?? Number.NaN, interval }, 3);

function answersLine(counts: Evaluation['counts'][number], { suite, settings }: Evaluation): string {
  const { problems, correct, wrong, truncated, located, rejected, accuracy } = counts;
  // Labelled responses come from other models, and say nothing of this one.
  const share = comesLabelled(suite) ? '' : `; accuracy ${show(accuracy)}`;
  const by = rolloutsNamed(settings);
  const labels = by === null ? '' : `, labels by ${by}; ${rejected.not_reached ?? 0} not found`;
  return `${problems} problems: ${correct} right, ${wrong} wrong, ${truncated} cut off${share}\n${located} first wrong steps${labels}`;
}

const claimsLine = (counts: Evaluation['claimCounts'][number]): string =>
  `${counts.problems} responses, ${counts.truncated} cut off, ${counts.responses} with labelled claims: ${counts.supported} supported, ${counts.unsupported} unsupported; mean share of supported ones ${show(counts.precision)}
${counts.unlabelled} claims without a label, ${counts.unplaced} not found in their response`;
