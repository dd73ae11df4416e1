import type { Evaluation } from '../records/evaluation.js';
import { areas } from '../statistics/areas.js';
import {
  type BootstrapOptions,
  percentileInterval,
  type Resampled,
  resample,
} from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { rank } from '../statistics/ranking.js';
import { type Aggregated, CHANCE, type ScoredCase } from './case.js';
import { type Row, type Scopes, scoped } from './measure-table.js';

/** Detection of positive examples among negative ones by a measure. */
export interface Detector {
  readonly measure: string;
  readonly aggregation: Aggregated;
  readonly auroc: Resampled;
  readonly averagePrecision: Resampled;
}

/** Examples with their label, and the case that they are drawn again with. */
export interface Example<T> {
  readonly of: T;
  readonly positive: boolean;
  readonly group: number;
}

export interface Scorer<T> {
  readonly measure: string;
  readonly aggregation: Aggregated;
  readonly score: (of: T) => number;
}

/** All measures see the same resamples. */
export function detectors<T>(
  examples: readonly Example<T>[],
  groups: number,
  scorers: readonly Scorer<T>[],
  options: BootstrapOptions,
): Detector[] {
  const labels = examples.map(({ positive }) => positive);
  const groupOf = examples.map(({ group }) => group);
  const rankings = scorers.map(({ score }) =>
    rank(
      examples.map(({ of }) => score(of)),
      labels,
      groupOf,
    ),
  );
  const statistics = resample(
    groups,
    (multiplicities) =>
      rankings.flatMap((ranking) => {
        const { auroc, averagePrecision } = areas(ranking, multiplicities);
        return [auroc, averagePrecision];
      }),
    options,
  );
  return scorers.map(({ measure, aggregation }, i) => ({
    measure,
    aggregation,
    auroc: statistics[2 * i]!,
    averagePrecision: statistics[2 * i + 1]!,
  }));
}

const chance: Scorer<unknown> = { measure: CHANCE, aggregation: 'own', score: () => 0 };

/** Scores by each measure and aggregation, in the order of the measures; chance last. */
export const scorersOf = <T>(
  measures: readonly string[],
  aggregationsOf: (measure: string) => Iterable<Aggregated> | undefined,
  score: (of: T, measure: string, aggregation: Aggregated) => number,
): Scorer<T>[] => [
  ...measures.flatMap((measure) =>
    [...(aggregationsOf(measure) ?? [])].map(
      (aggregation): Scorer<T> => ({ measure, aggregation, score: (of) => score(of, measure, aggregation) }),
    ),
  ),
  chance,
];

/** Scores of whole responses. */
export const responseScorers = (
  cases: readonly ScoredCase[],
  measures: readonly string[],
): Scorer<ScoredCase>[] =>
  scorersOf(
    measures,
    (measure) => cases[0]?.measures.get(measure)?.response.keys(),
    (one, measure, how) => defined(one, measure, one.measures.get(measure)?.response.get(how)),
  );

/** Is the final answer wrong? Whole responses, in the class ratio in which they come. */
export function responseDetectors(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  options: BootstrapOptions,
): Detector[] {
  const examples = cases.map((one, group) => ({ of: one, positive: !one.correct, group }));
  return detectors(examples, cases.length, responseScorers(cases, measures), options);
}

interface Step {
  readonly one: ScoredCase;
  readonly step: number;
}

/** Is the step the first wrong one? Steps of right and wrong responses, up to the first wrong one. */
export function stepDetectors(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  options: BootstrapOptions,
): Detector[] {
  const scorers = scorersOf<Step>(
    measures,
    (measure) => cases[0]?.measures.get(measure)?.steps.keys(),
    ({ one, step }, measure, how) => defined(one, measure, one.measures.get(measure)?.steps.get(how)?.[step]),
  );
  return detectors(pooledSteps(cases), cases.length, scorers, options);
}

/**
 * Steps after the first wrong one are left out: a step that follows from an error is neither right nor wrong
 * by itself.
 */
function pooledSteps(cases: readonly ScoredCase[]): Example<Step>[] {
  return cases.flatMap((one, group) =>
    Array.from({ length: (one.firstWrong ?? one.steps - 1) + 1 }, (_, step) => ({
      of: { one, step },
      positive: step === one.firstWrong,
      group,
    })),
  );
}

/**
 * @param detectorsOf cases: {@link responseDetectors}
 * @param ratiosOf cases: their prediction–rejection ratios, in the same order
 */
export const responseTable = (
  cases: readonly ScoredCase[],
  scopes: Scopes,
  detectorsOf: (cases: readonly ScoredCase[]) => readonly Detector[],
  ratiosOf: (cases: readonly ScoredCase[]) => readonly Estimate[],
): Evaluation['responses'] =>
  scoped(cases, scopes, (mine) => {
    const counts = { n: mine.length, positives: mine.filter(({ correct }) => !correct).length };
    const ratios = ratiosOf(mine);
    return detectorsOf(mine).map((detector, i) => {
      const row = areaRow(detector, counts);
      return { ...row, estimates: { ...row.estimates, prr: ratios[i]! } };
    });
  });

/** @param detectorsOf cases: {@link stepDetectors} */
export const pooledTable = (
  cases: readonly ScoredCase[],
  scopes: Scopes,
  detectorsOf: (cases: readonly ScoredCase[]) => readonly Detector[],
): Evaluation['pooled'] =>
  scoped(cases, scopes, (mine) => {
    const steps = pooledSteps(mine);
    const counts = { steps: steps.length, positives: steps.filter(({ positive }) => positive).length };
    return detectorsOf(mine).map((detector) => areaRow(detector, counts));
  });

export const areaRow = <C extends string>(
  { measure, aggregation, auroc, averagePrecision }: Detector,
  counts: Row<C, never>['counts'],
): Row<C, 'auroc' | 'averagePrecision'> => ({
  measure,
  aggregation,
  counts,
  estimates: { auroc: percentileInterval(auroc), averagePrecision: percentileInterval(averagePrecision) },
});

function defined(one: ScoredCase, measure: string, score: number | undefined): number {
  if (score !== undefined) return score;
  throw new RangeError(`${one.id} has no score of ${measure}`);
}
