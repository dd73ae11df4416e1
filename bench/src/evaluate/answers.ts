import type { Evaluation } from '../records/evaluation.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { type Ranking, rank } from '../statistics/ranking.js';
import {
  accuracyWithout,
  keptRight,
  predictionRejectionRatio,
  readOf,
  wrongAmong,
} from '../statistics/rejection.js';
import { CONTROLS, type ScoredCase } from './case.js';
import { responseScorers, type Scorer } from './detection.js';
import { written } from './table.js';

type Answers = NonNullable<Evaluation['answers']>;

/** Share of the answers that somebody has the time to read. */
const READ = 0.2;
/** Shares of right answers that may be flagged. */
const FLAGGED = [0.05, 0.01] as const;
/** Shares of the answers that are rejected, for the curve. */
const REJECTED = Array.from({ length: 20 }, (_, i) => i / 20);
/** Answers of a kind that are shown. */
const SHOWN = 10;

const rankAnswers = (cases: readonly ScoredCase[], { score }: Scorer<ScoredCase>): Ranking =>
  rank(
    cases.map(score),
    cases.map(({ correct }) => !correct),
  );

/** PRR, and PRR of at most half of the answers, of each of the scores of {@link responseScorers}. */
export function rejectionRatios(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  options: BootstrapOptions,
): Estimate[][] {
  const rankings = responseScorers(cases, measures).map((scorer) => rankAnswers(cases, scorer));
  const all = bootstrap(
    cases.length,
    (weights) =>
      rankings.flatMap((ranking) => {
        const kept = keptRight(ranking, weights);
        return [predictionRejectionRatio(kept), predictionRejectionRatio(kept, 0.5)];
      }),
    options,
  );
  return rankings.map((_, i) => all.slice(2 * i, 2 * i + 2));
}

/** An answer that is to be shown, and its score. */
export interface Shown {
  readonly id: string;
  readonly score: number;
}

/** All that is told of the answers; those that are shown by their ids. */
export type AnswersFound = Omit<Answers, 'falseAlarms' | 'misses'> & {
  readonly falseAlarms: readonly Shown[];
  readonly misses: readonly Shown[];
};

/**
 * What whole answers' scores are worth, the best of them above all.
 * @param cases all answers
 * @param rows of the table of whole answers
 */
export function answersOf(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  rows: Evaluation['responses'],
  options: BootstrapOptions,
): AnswersFound {
  const [n, wrong] = [cases.length, cases.filter(({ correct }) => !correct).length];
  const scorers = responseScorers(cases, measures);
  const found = bestOf(rows);
  const scorer = scorers.find(
    ({ measure, aggregation }) => measure === found?.measure && aggregation === found.aggregation,
  );
  const none = { best: null, reading: null, thresholds: [], rejection: [], falseAlarms: [], misses: [] };
  if (!found || !scorer) return { n, wrong, ...none };
  const ordered = cases
    .map((one) => ({ id: one.id, correct: one.correct, score: scorer.score(one) }))
    .sort((a, b) => b.score - a.score);
  const shown = (all: typeof ordered): Shown[] => all.slice(0, SHOWN).map(({ id, score }) => ({ id, score }));
  const ranking = rankAnswers(cases, scorer);
  const [read] = bootstrap(n, (weights) => [wrongAmong(keptRight(ranking, weights), READ)], options);
  return {
    n,
    wrong,
    best: found,
    reading: {
      share: READ,
      read: readOf(n, READ),
      found: written(read!),
      chance: (readOf(n, READ) * wrong) / n,
    },
    thresholds: thresholdsOf(cases, scorer, options),
    rejection: rejectionCurves(
      cases,
      scorers.filter((one) =>
        bestRows(rows).some((row) => row.measure === one.measure && row.aggregation === one.aggregation),
      ),
      options,
    ),
    falseAlarms: shown(ordered.filter(({ correct }) => correct)),
    misses: shown(ordered.filter(({ correct }) => !correct).reverse()),
  };
}

type AnswerRow = Evaluation['responses'][number];

/** Rows of all answers, one for each measure: that of its ways to put tokens together with the highest AUROC. */
export function bestRows(rows: readonly AnswerRow[]): AnswerRow[] {
  const best = new Map<string, AnswerRow>();
  for (const row of rows) {
    const other = best.get(row.measure);
    if (row.scope !== 'all' || row.auroc.value === null) continue;
    if (!other || row.auroc.value > other.auroc.value!) best.set(row.measure, row);
  }
  return [...best.values()];
}

const isControl = ({ measure }: AnswerRow): boolean => CONTROLS.includes(measure);

function bestOf(rows: readonly AnswerRow[]): Answers['best'] {
  const [first, ...rest] = bestRows(rows).filter((row) => !isControl(row));
  if (!first) return null;
  const { measure, aggregation } = rest.reduce(
    (best, row) => (row.auroc.value! > best.auroc.value! ? row : best),
    first,
  );
  const candidates = rows.filter((row) => row.scope === 'all' && !isControl(row));
  return { measure, aggregation, of: candidates.length };
}

/** Thresholds of a score, and the share of wrong answers above them. */
function thresholdsOf(
  cases: readonly ScoredCase[],
  { score }: Scorer<ScoredCase>,
  options: BootstrapOptions,
): Answers['thresholds'] {
  const scored = cases.map((one, group) => ({ group, correct: one.correct, score: score(one) }));
  const [right, wrong] = [true, false].map((is) =>
    scored.filter(({ correct }) => correct === is).sort((a, b) => b.score - a.score),
  );
  return FLAGGED.map((rightFlagged) => {
    // So few that not even one may be flagged.
    if (right!.length * rightFlagged < 1 - ROUNDING)
      return { rightFlagged, score: null, recall: { value: null, interval: null } };
    const recallOf = (weights?: Uint32Array): number => {
      const threshold = thresholdOf(right!, rightFlagged, weights);
      return (
        countOf(
          wrong!.filter((one) => one.score > threshold),
          weights,
        ) / countOf(wrong!, weights)
      );
    };
    const [recall] = bootstrap(cases.length, (weights) => [recallOf(weights)], options);
    return { rightFlagged, score: thresholdOf(right!, rightFlagged), recall: written(recall!) };
  });
}

/** 0.05 · 20 is not to be less than 1. */
const ROUNDING = 1e-9;

interface Weighted {
  readonly score: number;
  readonly group: number;
}

const countOf = (all: readonly Weighted[], weights?: Uint32Array): number =>
  all.reduce((sum, { group }) => sum + (weights?.[group] ?? 1), 0);

/**
 * The lowest score above which at most a share of the right answers is: one of their scores. NaN without any.
 * @param right the highest first
 */
function thresholdOf(right: readonly Weighted[], share: number, weights?: Uint32Array): number {
  const allowed = share * countOf(right, weights) + ROUNDING;
  let above = 0;
  for (const { score, group } of right) {
    above += weights?.[group] ?? 1;
    if (above > allowed) return score;
  }
  return Number.NaN;
}

function rejectionCurves(
  cases: readonly ScoredCase[],
  scorers: readonly Scorer<ScoredCase>[],
  options: BootstrapOptions,
): Answers['rejection'] {
  const n = cases.length;
  const shares = REJECTED.filter((share) => readOf(n, share) < n);
  return scorers.map((scorer) => {
    const ranking = rankAnswers(cases, scorer);
    const accuracies = bootstrap(
      n,
      (weights) => {
        const kept = keptRight(ranking, weights);
        return shares.map((share) => accuracyWithout(kept, share));
      },
      options,
    );
    const points = shares.map((rejected, i) => ({
      rejected,
      kept: n - readOf(n, rejected),
      accuracy: written(accuracies[i]!),
    }));
    return { measure: scorer.measure, aggregation: scorer.aggregation, points };
  });
}
