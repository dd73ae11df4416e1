import { answerScore, weigh } from 'flinch';
import type { ScoreRecord } from '../records/records.js';
import { groupBy } from '../report/group-by.js';
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

/**
 * Scores of a whole answer by each measure: the sum and the mean of its tokens, and that of the guard's verdict.
 * @param texts of its tokens
 */
export function answerScores(
  { tokens, response }: Pick<ScoreRecord, 'tokens' | 'response'>,
  texts: readonly string[],
): ReadonlyMap<string, number> {
  const own = Object.entries(response).map(([measure, score]) => [measure, score] as const);
  const verdict = (scores: readonly (number | null)[]): number =>
    answerScore(weigh(scores.flatMap((score, i) => (score === null ? [] : [{ text: texts[i]!, score }]))));
  const summed = Object.entries(tokens).flatMap(([measure, scores]) => [
    [`${measure}, sum`, aggregate('sum', scores)] as const,
    [`${measure}, mean`, aggregate('mean', scores)] as const,
    [`${measure}, verdict`, verdict(scores)] as const,
  ]);
  return new Map([...own, ...summed]);
}

/** What comes of choosing the share of the questions with the highest scores. */
export interface SharePoint {
  readonly share: number;
  readonly accuracy: Estimate;
  /** How much more that is than by handing on as many at random. */
  readonly gain: Estimate;
  /** How much more than by handing on as many with the longest answers. */
  readonly overLength: Estimate;
  /** Share of the difference between both models that is made up; `null` where there is none. */
  readonly closed: number | null;
  /** Tokens of both models times their prices, as a share of what the large model alone takes. */
  readonly cost: number;
}

/** The same, of questions that are handed on. */
export interface EscalationPoint extends SharePoint {
  /**
   * How much more than at the same cost by the simplest other way: the large model is asked at once, about as many random
   * questions as the cost allows, and the small one about the others.
   */
  readonly overMixing: Estimate;
  /**
   * Tokens of the small model that one of the large model must cost for both ways to be alike; the dearer it is, the better
   * handing on is. 0 where it is better at every price, as it makes up more than the difference between both models; `null`
   * where it never is, and where the large model is no better.
   */
  readonly paysFrom: number | null;
}

export interface Escalation<Point extends SharePoint = EscalationPoint> {
  readonly by: string;
  /** How well the score tells wrong answers of the small model from right ones. */
  readonly auroc: Estimate;
  readonly points: readonly Point[];
}

export interface EscalationTable<Point extends SharePoint = EscalationPoint> {
  readonly questions: number;
  readonly small: Estimate;
  readonly large: Estimate;
  readonly smallTokens: number;
  readonly largeTokens: number;
  /** The best first, by the mean gain over all shares. */
  readonly ways: readonly Escalation<Point>[];
}

export interface EscalationOptions extends BootstrapOptions {
  readonly shares: readonly number[];
  /** Prices of a token of both models. */
  readonly prices: { readonly small: number; readonly large: number };
}

/** Shares over which the gains are averaged to order the ways. */
const EVEN = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** All ways on the same questions, and the same resamples of them. @throws RangeError without a case */
export function escalations(
  cases: readonly EscalationCase[],
  { shares, prices, ...options }: EscalationOptions,
): EscalationTable {
  const [first] = cases;
  if (!first) throw new RangeError('there is no question that both models have answered');
  const names = [...first.scores.keys()];
  const wrong = cases.map(({ small }) => !small.right);
  const right = (model: 'small' | 'large') => cases.map((each) => Number(each[model].right));
  const [small, large] = [right('small'), right('large')];
  const none = cases.map(() => 0);
  const tokens = (model: 'small' | 'large') => cases.map((each) => each[model].tokens);
  const work = (model: 'small' | 'large') => tokens(model).map((each) => each * prices[model]);
  const costs = { small: work('small'), large: work('large') };
  const ways = names.map((by) => {
    const scores = cases.map((each) => each.scores.get(by) ?? Number.NEGATIVE_INFINITY);
    return { by, tiers: tiersOf(scores), ranking: rank(scores, wrong) };
  });
  const statistics = resample(
    cases.length,
    (weights) => {
      const all = { small: weighted(small, weights), large: weighted(large, weights) };
      const of = { small: weighted(costs.small, weights), large: weighted(costs.large, weights) };
      const random = shares.map((share) => (1 - share) * all.small + share * all.large);
      const found = ways.flatMap(({ tiers, ranking }) => [
        areas(ranking, weights).auroc,
        ...shares.map((share) => handedOn(tiers, share, weights, { small, large })),
        ...shares.map((share) => {
          const cost = of.small + handedOn(tiers, share, weights, { small: none, large: costs.large });
          return mixed(all, of, cost);
        }),
      ]);
      return [all.small, all.large, ...random, ...found];
    },
    options,
  );
  const [ofSmall, ofLarge, ...rest] = statistics as [Resampled, Resampled, ...Resampled[]];
  const random = rest.slice(0, shares.length);
  const found = ways.map(({ by, tiers }, i) => {
    const [auroc, ...points] = rest.slice(shares.length).slice(i * (1 + 2 * shares.length));
    const accuracies = points.slice(0, shares.length);
    return { by, tiers, auroc: auroc!, accuracies, mixing: points.slice(shares.length, 2 * shares.length) };
  });
  const byLength = found.find(({ by }) => by === ANSWER_LENGTH);
  const gap = ofLarge.value - ofSmall.value;
  const once = new Uint32Array(cases.length).fill(1);
  const always = weighted(costs.large, once);
  const lengths = weighted(tokens('small'), once) / weighted(tokens('large'), once);
  const each = found.map(({ by, tiers, auroc, accuracies, mixing }) => ({
    by,
    mean: meanGain(tiers, { small, large }),
    auroc: percentileInterval(auroc),
    points: accuracies.map((accuracy, j): EscalationPoint => {
      const share = shares[j]!;
      const handed = handedOn(tiers, share, once, { small: none, large: costs.large });
      const closed = gap === 0 ? null : (accuracy.value - ofSmall.value) / gap;
      return {
        share,
        accuracy: percentileInterval(accuracy),
        gain: bootstrapDifference(accuracy, random[j]!).difference,
        overLength: bootstrapDifference(accuracy, byLength?.accuracies[j] ?? random[j]!).difference,
        closed,
        cost: (weighted(costs.small, once) + handed) / always,
        overMixing: bootstrapDifference(accuracy, mixing[j]!).difference,
        paysFrom: gap > 0 && closed !== null ? paysFrom(closed, handed / always, lengths) : null,
      };
    }),
  }));
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

/**
 * @param closed share of the difference between both models that handing on makes up
 * @param handed share of the large model's tokens that it takes
 * @param lengths tokens of the small model's answers, divided by those of the large one's
 */
function paysFrom(closed: number, handed: number, lengths: number): number | null {
  if (closed > 1) return 0;
  return closed > handed ? (lengths * closed) / (closed - handed) : null;
}

/**
 * Right answers where a share of all questions, drawn at random, is asked of the large model alone, for a cost: for all of
 * them, at most.
 */
function mixed(
  right: { readonly small: number; readonly large: number },
  cost: { readonly small: number; readonly large: number },
  spent: number,
): number {
  const share = cost.large <= cost.small ? 1 : Math.min(1, (spent - cost.small) / (cost.large - cost.small));
  return right.small + share * (right.large - right.small);
}

/** Indices by score, the highest first; those with the same score together. */
function tiersOf(scores: readonly number[]): number[][] {
  const tiers = groupBy([...scores.keys()], (i) => scores[i]!);
  return [...tiers].sort(([a], [b]) => b - a).map(([, tier]) => tier);
}

const weighted = (values: readonly number[], weights: Uint32Array): number =>
  values.reduce((sum, value, i) => sum + weights[i]! * value, 0) / weights.reduce((sum, one) => sum + one, 0);

interface OfModels {
  readonly small: readonly number[];
  readonly large: readonly number[];
}

/** Mean value where the first tiers are handed on, up to a share of all; of the last tier a part, each of it alike. */
function handedOn(
  tiers: readonly (readonly number[])[],
  share: number,
  weights: Uint32Array,
  { small, large }: OfModels,
): number {
  const all = weights.reduce((sum, one) => sum + one, 0);
  let left = share * all;
  let total = 0;
  for (const tier of tiers) {
    const weight = tier.reduce((sum, i) => sum + weights[i]!, 0);
    if (weight === 0) continue;
    const part = Math.min(left, weight) / weight;
    left -= part * weight;
    for (const i of tier) total += weights[i]! * (part * large[i]! + (1 - part) * small[i]!);
  }
  return total / all;
}

function meanGain(tiers: readonly (readonly number[])[], of: OfModels): number {
  const weights = new Uint32Array(of.small.length).fill(1);
  const [small, large] = [weighted(of.small, weights), weighted(of.large, weights)];
  const gains = EVEN.map(
    (share) => handedOn(tiers, share, weights, of) - ((1 - share) * small + share * large),
  );
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
}
