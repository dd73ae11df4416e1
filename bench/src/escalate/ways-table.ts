import { percent, table } from '../markdown-table.js';
import { formatEstimate } from '../statistics/estimate.js';
import { ANSWER_LENGTH, type Escalation, type SharePoint } from './escalation.js';

/** Ways to choose questions, with what comes of each share of them. */
export function waysTable(heading: string, ways: readonly Escalation<SharePoint>[]): string {
  const columns = ways[0]?.points.flatMap(({ share }) => [
    `at ${percent(share)}`,
    'more than random',
    'than by length',
    'of the gap',
  ]);
  const rows = ways.map(({ by, auroc, points }) => [
    by,
    formatEstimate(auroc, 2),
    ...points.flatMap(({ accuracy, gain, overLength, closed }) => [
      accuracy.value.toFixed(3),
      formatEstimate(gain),
      by === ANSWER_LENGTH ? '' : formatEstimate(overLength),
      closed === null ? '–' : percent(closed),
    ]),
  ]);
  return table([heading, 'AUROC', ...(columns ?? [])], rows);
}
