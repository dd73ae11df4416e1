import { answerScore } from 'flinch';
import type { ScoreRecord } from '../records/records.js';
import { areas } from '../statistics/areas.js';
import {
  type BootstrapOptions,
  bootstrapDifference,
  percentileInterval,
  type Resampled,
  resample,
} from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { rank } from '../statistics/ranking.js';
import { aggregate } from '../steps/aggregation.js';

/**
 * A question that a small and a large model have answered: what it would have been worth to hand it on, of which the small
 * one's answer decides (FrugalGPT, arXiv 2305.05176; language model cascades, arXiv 2404.10136).
 */
export interface EscalationCase {
  readonly id: string;
  /** Scores by which it may be handed on, the highest first; the same names in each case. */
  readonly scores: ReadonlyMap<string, number>;
  readonly small: { readonly right: boolean; readonly tokens: number };
  readonly large: { readonly right: boolean; readonly tokens: number };
}

/** Names of the scores that no model is needed for. */
export const ANSWER_LENGTH = 'length of the answer';
export const QUESTION_LENGTH = 'length of the question';

/** Scores of a whole answer by each measure: the sum and the mean of its tokens, and that of the guard's verdict. */
export function answerScores({ steps, tokens, response }: ScoreRecord): ReadonlyMap<string, number> {
  const own = Object.entries(response).map(([measure, score]) => [measure, score] as const);
  const summed = Object.entries(tokens).flatMap(([measure, scores]) => [
    [`${measure}, sum`, aggregate('sum', scores)] as const,
    [`${measure}, mean`, aggregate('mean', scores)] as const,
    [
      `${measure}, verdict`,
      answerScore(steps.map(([from, to]) => aggregate('sum', scores.slice(from, to)))),
    ] as const,
  ]);
  return new Map([...own, ...summed]);
}

/** What comes of handing on the share of the questions with the highest scores. */
export interface EscalationPoint {
  readonly share: number;
  readonly accuracy: Estimate;
  /** How much more that is than by handing on as many at random. */
  readonly gain: Estimate;
  readonly p: number;
  /** Share of the difference between both models that is made up; `null` where there is none. */
  readonly closed: number | null;
  /** Tokens of both models times their parameters, as a share of what the large model alone takes. */
  readonly cost: number;
}

export interface Escalation {
  readonly by: string;
  /** How well the score tells wrong answers of the small model from right ones. */
  readonly auroc: Estimate;
  readonly points: readonly EscalationPoint[];
}

export interface EscalationTable {
  readonly questions: number;
  readonly small: Estimate;
  readonly large: Estimate;
  readonly smallTokens: number;
  readonly largeTokens: number;
  /** The best first, by the mean gain over all shares. */
  readonly ways: readonly Escalation[];
}

export interface EscalationOptions extends BootstrapOptions {
  readonly shares: readonly number[];
  /** Parameters of both models. */
  readonly parameters: { readonly small: number; readonly large: number };
}

/** Shares over which the gains are averaged to order the ways. */
const EVEN = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** All ways on the same questions, and the same resamples of them. @throws RangeError without a case */
export function escalations(
  cases: readonly EscalationCase[],
  { shares, parameters, ...options }: EscalationOptions,
): EscalationTable {
  const [first] = cases;
  if (!first) throw new RangeError('there is no question that both models have answered');
  const names = [...first.scores.keys()];
  const wrong = cases.map(({ small }) => !small.right);
  const right = (model: 'small' | 'large') => cases.map((each) => Number(each[model].right));
  const [small, large] = [right('small'), right('large')];
  const ways = names.map((by) => {
    const scores = cases.map((each) => each.scores.get(by) ?? Number.NEGATIVE_INFINITY);
    const order = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!);
    return { by, order, ranking: rank(scores, wrong) };
  });
  const statistics = resample(
    cases.length,
    (weights) => {
      const all = { small: weighted(small, weights), large: weighted(large, weights) };
      const random = shares.map((share) => (1 - share) * all.small + share * all.large);
      const found = ways.flatMap(({ order, ranking }) => [
        areas(ranking, weights).auroc,
        ...shares.map((share) => handedOn(order, share, small, large, weights)),
      ]);
      return [all.small, all.large, ...random, ...found];
    },
    options,
  );
  const [ofSmall, ofLarge, ...rest] = statistics as [Resampled, Resampled, ...Resampled[]];
  const random = rest.slice(0, shares.length);
  const found = rest.slice(shares.length);
  const cost = costOf(cases, parameters);
  const gap = ofLarge.value - ofSmall.value;
  const each = ways.map(({ by, order }, i) => {
    const [auroc, ...accuracies] = found.slice(i * (1 + shares.length), (i + 1) * (1 + shares.length));
    return {
      by,
      mean: meanGain(order, small, large),
      auroc: percentileInterval(auroc!),
      points: accuracies.map((accuracy, j) => {
        const { difference, p } = bootstrapDifference(accuracy, random[j]!);
        return {
          share: shares[j]!,
          accuracy: percentileInterval(accuracy),
          gain: difference,
          p,
          closed: gap === 0 ? null : (accuracy.value - ofSmall.value) / gap,
          cost: cost(order.slice(0, Math.round(shares[j]! * order.length))),
        };
      }),
    };
  });
  const total = (model: 'small' | 'large'): number => cases.reduce((sum, one) => sum + one[model].tokens, 0);
  return {
    questions: cases.length,
    small: percentileInterval(ofSmall),
    large: percentileInterval(ofLarge),
    smallTokens: total('small'),
    largeTokens: total('large'),
    ways: each.toSorted((a, b) => b.mean - a.mean).map(({ mean: _, ...way }) => way),
  };
}

const weighted = (values: readonly number[], weights: Uint32Array): number =>
  values.reduce((sum, value, i) => sum + weights[i]! * value, 0) / weights.reduce((sum, one) => sum + one, 0);

/** Share of right answers where the first ones of an order are handed on, up to a share of all; of the last one a part. */
function handedOn(
  order: readonly number[],
  share: number,
  small: readonly number[],
  large: readonly number[],
  weights: Uint32Array,
): number {
  const all = weights.reduce((sum, one) => sum + one, 0);
  let left = share * all;
  let right = 0;
  for (const i of order) {
    const weight = weights[i]!;
    const handed = Math.min(left, weight);
    left -= handed;
    right += handed * large[i]! + (weight - handed) * small[i]!;
  }
  return right / all;
}

function meanGain(order: readonly number[], small: readonly number[], large: readonly number[]): number {
  const weights = new Uint32Array(order.length).fill(1);
  const [ofSmall, ofLarge] = [weighted(small, weights), weighted(large, weights)];
  const gains = EVEN.map(
    (share) => handedOn(order, share, small, large, weights) - ((1 - share) * ofSmall + share * ofLarge),
  );
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
}

function costOf(
  cases: readonly EscalationCase[],
  { small, large }: EscalationOptions['parameters'],
): (handed: readonly number[]) => number {
  const always = cases.reduce((sum, one) => sum + one.large.tokens, 0) * large;
  const first = cases.reduce((sum, one) => sum + one.small.tokens, 0) * small;
  return (handed) => (first + handed.reduce((sum, i) => sum + cases[i]!.large.tokens, 0) * large) / always;
}
