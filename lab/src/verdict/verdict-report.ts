import { type Machine, table } from '#bench/markdown-table.js';
import { areas } from '#bench/statistics/areas.js';
import {
  bootstrapDifference,
  percentileInterval,
  type Resampled,
  resample,
} from '#bench/statistics/bootstrap.js';
import { type Estimate, formatEstimate } from '#bench/statistics/estimate.js';
import { rank } from '#bench/statistics/ranking.js';
import { wilson } from '#bench/statistics/wilson.js';
import { isAlarm } from '#src/risk/risk.js';
import type { JudgedAnswer } from './judged-answer.js';

export const RATES = [0.01, 0.02, 0.05, 0.1] as const;
/** Rate for the groups: enough of them are flagged to compare. */
const GROUP_RATE = 0.05;
/** Shares of all answers that are reviewed, those with the highest scores. */
const REVIEWED = [0.05, 0.1, 0.2, 0.3] as const;

/** How many answers of a kind are flagged. */
interface Flagged {
  readonly of: string;
  readonly answers: number;
  readonly shares: readonly { readonly rate: number; readonly share: Estimate }[];
}

/** How well wrong final answers score above right ones. */
interface Separation {
  readonly by: string;
  readonly auroc: Estimate;
  /** How much larger the verdict's is. */
  readonly difference: Estimate | null;
  readonly p: number | null;
}

interface Group {
  readonly name: string;
  /** All of them right. */
  readonly answers: number;
  readonly falseAlarms: Estimate;
  readonly wrong: number;
  readonly caught: Estimate;
}

/** Findings of a review of the answers with the highest scores. */
interface Review {
  readonly share: number;
  readonly answers: number;
  /** Share of these that has a wrong final answer. */
  readonly wrong: Estimate;
  /** Share of all wrong answers that is among them; by chance it would be `share`. */
  readonly found: Estimate;
}

export interface VerdictResults {
  readonly flagged: readonly Flagged[];
  readonly reviews: readonly Review[];
  readonly separation: readonly Separation[];
  readonly groups: readonly Group[];
}

export interface VerdictReport extends VerdictResults {
  readonly command: string;
  readonly model: string;
  readonly machine: Machine;
  readonly problems: number;
  readonly seed: number;
  readonly temperature: number;
  readonly method: string;
  readonly statistic: string;
  /** Ordinary answers in the calibration. */
  readonly calibration: number;
}

export function evaluate(answers: readonly JudgedAnswer[]): VerdictResults {
  const allRight = answers.filter((answer) => answer.allRight);
  const lucky = answers.filter(({ right, allRight }) => right && !allRight);
  const wrong = answers.filter(({ right }) => !right);
  return {
    flagged: [
      flagged('every step right', allRight),
      flagged('right after a wrong step', lucky),
      flagged('wrong final answer', wrong),
    ],
    reviews: REVIEWED.map((share) => review(answers, share)),
    separation: separations(answers),
    groups: groupsOf(answers).map(([name, members]) => {
      const right = members.filter((answer) => answer.allRight);
      const failed = members.filter((answer) => !answer.right);
      return {
        name,
        answers: right.length,
        falseAlarms: flaggedShare(right, GROUP_RATE),
        wrong: failed.length,
        caught: flaggedShare(failed, GROUP_RATE),
      };
    }),
  };
}

function flagged(of: string, answers: readonly JudgedAnswer[]): Flagged {
  const shares = RATES.map((rate) => ({ rate, share: flaggedShare(answers, rate) }));
  return { of, answers: answers.length, shares };
}

const flaggedShare = (answers: readonly JudgedAnswer[], rate: number): Estimate =>
  wilson(answers.filter(({ risk }) => isAlarm(risk, rate)).length, answers.length);

function review(answers: readonly JudgedAnswer[], share: number): Review {
  const read = answers.toSorted((a, b) => b.score - a.score).slice(0, Math.round(share * answers.length));
  const wrong = read.filter(({ right }) => !right).length;
  return {
    share,
    answers: read.length,
    wrong: wilson(wrong, read.length),
    found: wilson(wrong, answers.filter(({ right }) => !right).length),
  };
}

/** Separations by area, the largest first, after the verdict's. */
function separations(answers: readonly JudgedAnswer[]): Separation[] {
  const wrong = answers.map(({ right }) => !right);
  const names = Object.keys(answers[0]?.measures ?? {});
  const rankings = [
    rank(
      answers.map(({ risk }) => risk),
      wrong,
    ),
    ...names.map((name) =>
      rank(
        answers.map(({ measures }) => measures[name]!),
        wrong,
      ),
    ),
  ];
  const [verdict, ...others] = resample(answers.length, (weights) =>
    rankings.map((ranking) => areas(ranking, weights).auroc),
  );
  if (!verdict) return [];
  const rows = others.map((other: Resampled, i): Separation => {
    const { difference, p } = bootstrapDifference(verdict, other);
    return { by: names[i]!, auroc: percentileInterval(other), difference, p };
  });
  return [
    { by: 'verdict', auroc: percentileInterval(verdict), difference: null, p: null },
    ...rows.sort((a, b) => b.auroc.value - a.auroc.value),
  ];
}

/** Answers by family, and by length: a rate of all answers is not one of each kind. */
function groupsOf(answers: readonly JudgedAnswer[]): [string, readonly JudgedAnswer[]][] {
  const lengths = answers.map(({ steps }) => steps).sort((a, b) => a - b);
  const median = lengths[Math.floor((lengths.length - 1) / 2)] ?? 0;
  const groups: [string, readonly JudgedAnswer[]][] = [
    ...[...new Set(answers.map(({ subset }) => subset))].map((subset): [string, readonly JudgedAnswer[]] => [
      subset,
      answers.filter((answer) => answer.subset === subset),
    ]),
    [`up to ${median} steps`, answers.filter(({ steps }) => steps <= median)],
    [`more than ${median} steps`, answers.filter(({ steps }) => steps > median)],
  ];
  return groups.filter(([, members]) => members.length > 0);
}

export function formatVerdict(report: VerdictReport): string {
  const { problems, temperature, seed, machine, method, statistic, calibration } = report;
  return [
    `${problems} problems, T = ${temperature}, seeds from ${seed}; ${method}, ${statistic}; ${calibration} ordinary answers in the calibration; ${machine.cpu}, ${machine.cores} cores`,
    table(
      ['flagged at a rate of', 'answers', ...RATES.map(percentage)],
      report.flagged.map(({ of, answers, shares }) => [
        of,
        String(answers),
        ...shares.map(({ share }) => percentages(share)),
      ]),
    ),
    table(
      ['read, by the highest scores', 'answers', 'of these wrong', 'of all wrong ones'],
      report.reviews.map(({ share, answers, wrong, found }) => [
        percentage(share),
        String(answers),
        percentages(wrong),
        percentages(found),
      ]),
    ),
    table(
      ['wrong final answers by', 'AUROC [95 %]', 'the verdict has more', 'p'],
      report.separation.map(({ by, auroc, difference, p }) => [
        by,
        formatEstimate(auroc),
        difference ? formatEstimate(difference) : '',
        p === null ? '' : p.toFixed(3),
      ]),
    ),
    table(
      [
        'group',
        'every step right',
        `of these flagged at ${percentage(GROUP_RATE)}`,
        'wrong',
        'of these flagged',
      ],
      report.groups.map(({ name, answers, falseAlarms, wrong, caught }) => [
        name,
        String(answers),
        percentages(falseAlarms),
        String(wrong),
        percentages(caught),
      ]),
    ),
  ].join('\n\n');
}

const percentage = (rate: number): string => `${Number((100 * rate).toPrecision(3))} %`;

function percentages({ value, interval }: Estimate): string {
  if (Number.isNaN(value)) return '–';
  const [low, high] = interval?.map((end) => (100 * end).toFixed(1)) ?? [];
  return `${(100 * value).toFixed(1)} % [${low}, ${high}]`;
}
