import { mean } from 'simple-statistics';
import {
  bootstrapDifference,
  percentileInterval,
  type Resampled,
  resample,
} from '#bench/statistics/bootstrap.js';
import type { Estimate } from '#bench/statistics/estimate.js';
import { answerScore } from '#src/risk/risk.js';
import type { Result, Run, Way } from './run.js';

/** A way to answer beside those that hand on whole questions, for as many tokens of the large model. */
export interface Row {
  readonly way: Way;
  readonly right: Estimate;
  /** Tokens of an answer by each model, and steps that the large one wrote. */
  readonly small: number;
  readonly large: number;
  readonly escalated: number;
  /** Share of the difference between both models that is made up; `null` where there is none. */
  readonly closed: number | null;
  /** How much more that is than by the questions with the highest verdicts, and than by random ones. */
  readonly overAnswers: Estimate | null;
  readonly overRandomAnswers: Estimate | null;
  /** How much more than with random steps, which take other numbers of tokens. */
  readonly overRandomSteps: Estimate | null;
}

type Cases = Run['cases'];

/** @throws RangeError without a case */
export function compare(cases: Cases): Row[] {
  if (cases.length === 0) throw new RangeError('no question was answered in all ways');
  const ways = Object.keys(cases[0]!) as Way[];
  const mixed: readonly Way[] = ways.filter((way) => way !== 'small' && way !== 'large');
  const order = [...cases.keys()].sort((a, b) => verdictOf(cases[b]!) - verdictOf(cases[a]!));
  const found = resample(cases.length, (weights) => {
    const share = (way: Way): number => weighted(cases, weights, ({ [way]: { right } }) => Number(right));
    const tokens = (way: Way): number => weighted(cases, weights, ({ [way]: { large } }) => large);
    const ofAll = (way: Way): number => Math.min(1, tokens(way) / tokens('large'));
    const random = (way: Way): number => share('small') + ofAll(way) * (share('large') - share('small'));
    return [
      ...ways.map(share),
      ...mixed.map((way) => handedOn(cases, order, weights, tokens(way))),
      ...mixed.map(random),
    ];
  });
  const rights = new Map(ways.map((way, i) => [way, found[i]!]));
  const [small, large, random] = (['small', 'large', 'random'] as const).map((way) => rights.get(way)!);
  return ways.map((way) => {
    const right = rights.get(way)!;
    const place = mixed.indexOf(way);
    const over = (other: Resampled | undefined): Estimate | null =>
      place < 0 || !other ? null : bootstrapDifference(right, other).difference;
    const gap = large!.value - small!.value;
    const results = cases.map(({ [way]: result }) => result);
    const meanOf = (of: (result: Result) => number): number => mean(results.map(of));
    return {
      way,
      right: percentileInterval(right),
      small: meanOf((result) => result.small),
      large: meanOf((result) => result.large),
      escalated: meanOf((result) => result.escalated),
      closed: gap === 0 ? null : (right.value - small!.value) / gap,
      overAnswers: over(found[ways.length + place]),
      overRandomAnswers: over(found[ways.length + mixed.length + place]),
      overRandomSteps: way === 'random' ? null : over(random),
    };
  });
}

const verdictOf = ({ small }: Cases[number]): number => answerScore(small.steps.map(({ score }) => score));

/** Right answers where the questions with the highest verdicts are handed on until the large model has written so much. */
function handedOn(cases: Cases, order: readonly number[], weights: Uint32Array, tokens: number): number {
  const all = weights.reduce((sum, one) => sum + one, 0);
  let left = tokens * all;
  let right = 0;
  for (const i of order) {
    const { small, large } = cases[i]!;
    const cost = weights[i]! * large.large;
    const part = cost === 0 ? 0 : Math.min(left, cost) / cost;
    left -= part * cost;
    right += weights[i]! * (part * Number(large.right) + (1 - part) * Number(small.right));
  }
  return right / all;
}

const weighted = (cases: Cases, weights: Uint32Array, of: (one: Cases[number]) => number): number =>
  cases.reduce((sum, one, i) => sum + weights[i]! * of(one), 0) / weights.reduce((sum, one) => sum + one, 0);
