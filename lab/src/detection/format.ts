import { type Machine, table } from '#bench/markdown-table.js';
import { type Estimate, formatEstimate } from '#bench/statistics/estimate.js';
import { type Detection, RATE, RATES, REFERENCE } from './evaluate.js';

export interface DetectionReport extends Detection {
  readonly command: string;
  readonly model: string;
  readonly machine: Machine;
  readonly seed: number;
  readonly temperature: number;
}

const percentage = (rate: number): string => `${Number((100 * rate).toPrecision(3))} %`;

function percentages({ value, interval }: Estimate): string {
  if (Number.isNaN(value)) return '–';
  const [low, high] = interval?.map((end) => (100 * end).toFixed(1)) ?? [];
  return `${(100 * value).toFixed(1)} % [${low}, ${high}]`;
}

export function formatDetection(report: DetectionReport): string {
  const { answers, rightAnswers, steps, firstWrong, temperature, seed, machine } = report;
  return [
    `${answers} problems at T = ${temperature}, seeds from ${seed}: ${rightAnswers} right answers; ${steps} steps up to the first wrong one, ${firstWrong} of them wrong; ${machine.cpu}, ${machine.cores} cores`,
    table(
      [
        'measure',
        'step',
        ...RATES.map((rate) => `recall at ${percentage(rate)}`),
        `${percentage(RATE)}: difference from ${REFERENCE}`,
        'average precision',
        'AUROC',
        'delay',
        'live',
      ],
      report.detectors.map(({ measure, statistic, recall, difference, averagePrecision, auroc, delay }) => [
        measure,
        statistic,
        ...recall.map((one) => formatEstimate(one, 2)),
        difference ? formatEstimate(difference, 2) : '',
        formatEstimate(averagePrecision),
        formatEstimate(auroc),
        delay ? String(delay.atEnd) : '',
        delay ? String(delay.live) : '',
      ]),
    ),
    ...Object.entries(report.groups).map(
      ([name, groups]) =>
        `${name}, at the threshold that flags ${percentage(RATE)} of all right steps:\n\n${table(
          ['steps', 'right', 'of these flagged', 'first wrong', 'of these flagged'],
          groups.map(({ of, right, falseAlarms, wrong, recall }) => [
            of,
            String(right),
            percentages(falseAlarms),
            String(wrong),
            percentages(recall),
          ]),
        )}`,
    ),
    ...Object.entries(report.promises).map(
      ([name, promised]) =>
        `${name}, thresholds of one half of the answers, measured on the other:\n\n${table(
          [
            'rate of',
            'rate',
            'right steps flagged',
            'first',
            'between',
            'last',
            'right answers with a flag',
            'first wrong steps flagged',
          ],
          promised.map(({ rateOf, rate, steps, answers, found }) => [
            rateOf,
            percentage(rate),
            percentages(steps.all),
            percentages(steps.first),
            percentages(steps.between),
            percentages(steps.last),
            percentages(answers),
            percentages(found),
          ]),
        )}`,
    ),
  ].join('\n\n');
}
