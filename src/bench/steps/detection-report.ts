import { table } from '../report.js';
import { formatEstimate } from '../statistics/estimate.js';
import type { Detection } from './detection.js';

/** Two tables of Markdown for each scope: detection, and hits of tokens. */
export function formatDetection(detections: readonly Detection[]): string {
  return detections.map(formatScope).join('\n\n');
}

function formatScope({ scope, answers, steps, wrong, rows, hits }: Detection): string {
  const detection = table(
    ['score', 'of a step', 'AUROC [95 %]', 'average precision [95 %]'],
    rows.map(({ score, aggregation, auroc, averagePrecision }) => [
      score,
      aggregation ?? '',
      formatEstimate(auroc),
      formatEstimate(averagePrecision),
    ]),
  );
  const tokens = table(
    ['wrong step holds', 'the highest token [95 %]', 'one of the 3 highest [95 %]'],
    hits.map(({ score, top1, top3 }) => [score, formatEstimate(top1, 2), formatEstimate(top3, 2)]),
  );
  return `${scope}: ${answers} answers, ${steps} steps, ${wrong} of them the first wrong one\n\n${detection}\n\n${tokens}`;
}
