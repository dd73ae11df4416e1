import { areas } from '../statistics/areas.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { type Ranking, rank } from '../statistics/ranking.js';
import { AGGREGATIONS, type Aggregation, aggregate } from './aggregation.js';
import { type PooledStep, poolSteps, scoresOf } from './pooled-steps.js';
import type { StepAnswer } from './step-answer.js';
import { type HitRow, hitRows } from './token-hits.js';

/** How well a score of steps tells the first wrong one from right ones. */
export interface DetectionRow {
  /** A method or schedule, `longest step` or `chance`. */
  readonly score: string;
  /** `null` for scores that are of whole steps. */
  readonly aggregation: Aggregation | null;
  readonly auroc: Estimate;
  readonly averagePrecision: Estimate;
}

export interface Detection {
  /** `all`, or a task. */
  readonly scope: string;
  readonly answers: number;
  /** Right ones, and the first wrong one of each answer that has one. */
  readonly steps: number;
  readonly wrong: number;
  readonly rows: readonly DetectionRow[];
  readonly hits: readonly HitRow[];
}

/**
 * Detection of "this step is the first wrong one", pooled over the steps of right and wrong answers, as a live threshold
 * meets them: for all answers and for each task. Intervals are a bootstrap over whole answers.
 * @throws RangeError where an answer has not a score for each token of its steps, for each method that any answer has
 */
export function detectWrongSteps(
  answers: readonly StepAnswer[],
  options: BootstrapOptions = {},
): Detection[] {
  const names = [...new Set(answers.flatMap(({ scores }) => [...scores.keys()]))];
  const tasks = [...new Set(answers.map(({ task }) => task))];
  return ['all', ...tasks].map((scope) => {
    const mine = answers.filter(({ task }) => scope === 'all' || task === scope);
    const steps = poolSteps(mine);
    const wrong = steps.filter((step) => step.wrong);
    return {
      scope,
      answers: mine.length,
      steps: steps.length,
      wrong: wrong.length,
      rows: detectionRows(mine, steps, names, options),
      hits: hitRows(wrong, names),
    };
  });
}

function detectionRows(
  answers: readonly StepAnswer[],
  steps: readonly PooledStep[],
  names: readonly string[],
  options: BootstrapOptions,
): DetectionRow[] {
  const labels = steps.map(({ wrong }) => wrong);
  const place = new Map(answers.map((answer, i) => [answer, i]));
  const groups = steps.map(({ answer }) => place.get(answer)!);
  const scorer = (score: string, aggregation: Aggregation | null, of: (step: PooledStep) => number) => ({
    score,
    aggregation,
    ranking: rank(steps.map(of), labels, groups),
  });
  const scorers = [
    ...names.flatMap((name) =>
      AGGREGATIONS.map((aggregation) =>
        scorer(name, aggregation, ({ answer, start, end }) =>
          aggregate(aggregation, scoresOf(answer, name).slice(start, end)),
        ),
      ),
    ),
    scorer('longest step', null, ({ start, end }) => end - start),
    scorer('chance', null, () => 0),
  ];
  const estimates = estimateAreas(
    scorers.map(({ ranking }) => ranking),
    answers.length,
    options,
  );
  return scorers.map(({ score, aggregation }, i) => ({ score, aggregation, ...estimates[i]! }));
}

/** @param groups of all examples that are ranked */
export function estimateAreas(
  rankings: readonly Ranking[],
  groups: number,
  options: BootstrapOptions,
): Pick<DetectionRow, 'auroc' | 'averagePrecision'>[] {
  const estimates = bootstrap(
    groups,
    (multiplicities) =>
      rankings.flatMap((ranking) => {
        const { auroc, averagePrecision } = areas(ranking, multiplicities);
        return [auroc, averagePrecision];
      }),
    options,
  );
  return rankings.map((_, i) => ({ auroc: estimates[2 * i]!, averagePrecision: estimates[2 * i + 1]! }));
}
