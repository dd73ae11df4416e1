import type { Evaluation } from '../records/evaluation.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { type Ranking, rank } from '../statistics/ranking.js';
import { keptRight, predictionRejectionRatio, readOf, wrongAmong } from '../statistics/rejection.js';
import { CONTROLS, type ScoredCase } from './case.js';
import { responseScorers, type Scorer } from './detection.js';
import { written } from './measure-table.js';

type Answers = NonNullable<Evaluation['answers']>;

/** Share of the answers that somebody has the time to read. */
const READ = 0.2;

const rankAnswers = (cases: readonly ScoredCase[], { score }: Scorer<ScoredCase>): Ranking =>
  rank(
    cases.map(score),
    cases.map(({ correct }) => !correct),
  );

/** Prediction–rejection ratio of each of the scores of {@link responseScorers}. */
export function rejectionRatios(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  options: BootstrapOptions,
): Estimate[] {
  const rankings = responseScorers(cases, measures).map((scorer) => rankAnswers(cases, scorer));
  return bootstrap(
    cases.length,
    (weights) => rankings.map((ranking) => predictionRejectionRatio(keptRight(ranking, weights))),
    options,
  );
}

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
): Answers {
  const [n, wrong] = [cases.length, cases.filter(({ correct }) => !correct).length];
  const scorers = responseScorers(cases, measures);
  const found = bestOf(rows);
  const scorer = scorers.find(
    ({ measure, aggregation }) => measure === found?.measure && aggregation === found.aggregation,
  );
  if (!found || !scorer) return { n, wrong, best: null, reading: null };
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
