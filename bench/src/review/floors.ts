import { InvalidArgumentError } from 'commander';
import { bestRows } from '../evaluate/answer-measures.js';
import type { Evaluation, WrittenEstimate } from '../records/evaluation.js';
import { formatEstimate } from '../statistics/estimate.js';

const METRICS = ['accuracy', 'auroc'] as const;
type Metric = (typeof METRICS)[number];

/** What a run must reach. */
export interface Floor {
  readonly metric: Metric;
  readonly value: number;
}

/** @param text `accuracy=0.8,auroc=0.7` @throws InvalidArgumentError that names the part that does not fit */
export function parseFloors(text: string): Floor[] {
  return text.split(',').map((part) => {
    const [name, value = '', ...rest] = part.split('=').map((piece) => piece.trim());
    const metric = METRICS.find((known) => known === name);
    const number = value === '' ? Number.NaN : Number(value);
    if (!metric || rest.length > 0 || !(number >= 0 && number <= 1))
      throw new InvalidArgumentError(
        `${JSON.stringify(part)} must be ${METRICS.join(' or ')}, "=" and a number from 0 to 1.`,
      );
    return { metric, value: number };
  });
}

/** A sentence for each floor that is not reached, or whose value is not known. */
export const missedFloors = (evaluation: Evaluation, floors: readonly Floor[]): string[] =>
  floors.flatMap(({ metric, value }) => {
    const { value: found = null, interval = null } = estimateOf(evaluation, metric) ?? {};
    if (found === null) return [`${metric} is not known, and must be at least ${value}`];
    return found < value
      ? [`${metric} is ${formatEstimate({ value: found, interval })}, below ${value}`]
      : [];
  });

/** The accuracy of all answers, or the AUROC of the best score. */
function estimateOf({ counts, answers, responses }: Evaluation, metric: Metric): WrittenEstimate | undefined {
  if (metric === 'accuracy') return counts[0]?.accuracy;
  return bestRows(responses).find(({ measure }) => measure === answers?.best?.measure)?.auroc;
}
