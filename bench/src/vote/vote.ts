import { answersNeeded, elected, type Said } from 'flinch/internals';
import {
  ANSWER_LENGTH,
  type EscalationTable,
  escalations,
  QUESTION_LENGTH,
  type SharePoint,
} from '../escalate/escalation.js';
import {
  type BootstrapOptions,
  bootstrapDifference,
  percentileInterval,
  type Resampled,
  resample,
} from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';

export interface VotingAnswer {
  /** What it says; `null` if it has no vote. */
  readonly said: Said;
  readonly right: boolean;
  readonly tokens: number;
  /** Mean NLL of its tokens; `null` if it is not known. */
  readonly nll: number | null;
}

/** A question with an answer whose scores are known, and further answers. */
export interface VoteCase {
  readonly id: string;
  /** Characters of the question. */
  readonly length: number;
  /** Scores of the first answer; the same names in each case. */
  readonly scores: ReadonlyMap<string, number>;
  /** The first one has the scores. */
  readonly answers: readonly [VotingAnswer, ...VotingAnswer[]];
}

/** What comes of votes among so many further answers, for every question. */
export interface VoteOfAll {
  readonly candidates: number;
  readonly accuracy: Estimate;
  /** How much more that is than with the first answer alone. */
  readonly gain: Estimate;
  /** Mean tokens of a question with all answers, and with those that are drawn until nothing changes the winner. */
  readonly tokens: { readonly all: number; readonly drawn: number };
}

/** Votes that end once so large a share of at least three answers agrees. */
export interface VoteByAgreement {
  readonly agreement: number;
  readonly accuracy: Estimate;
  /** How much more that is than with the first answer alone. */
  readonly gain: Estimate;
  /** How much more than with all answers to every question. */
  readonly lost: Estimate;
  /** Mean tokens of a question, and their share of those with all answers. */
  readonly tokens: number;
  readonly share: number;
  /** Control: as many answers to every question as come closest in tokens, and how much more is right than with them. */
  readonly control: { readonly candidates: number; readonly tokens: number; readonly more: Estimate };
}

/** What comes of all answers to every question if the surer ones count for more. */
export interface WeightedVote {
  readonly way: Weighting;
  readonly accuracy: Estimate;
  /** How much more that is than by one vote for each answer. */
  readonly more: Estimate;
}

export interface VoteTable {
  readonly questions: number;
  /** Of the first answers. */
  readonly accuracy: Estimate;
  readonly tokens: number;
  /** By the number of further answers. */
  readonly all: readonly VoteOfAll[];
  readonly agreeing: readonly VoteByAgreement[];
  /** None if the NLL of an answer that has a vote is not known. */
  readonly weighted: readonly WeightedVote[];
  /** Votes among the most answers, for the questions with the highest scores alone. */
  readonly some: EscalationTable<SharePoint>;
}

/** @throws RangeError without a case */
export function votes(
  cases: readonly VoteCase[],
  { shares, ...options }: BootstrapOptions & { readonly shares: readonly number[] },
): VoteTable {
  const [first] = cases;
  if (!first) throw new RangeError('there is no question with further answers');
  const most = Math.min(...cases.map(({ answers }) => answers.length - 1));
  const counts = [2, 4, 8, 16].filter((count) => count < most).concat(most);
  const outcomes = counts.map((candidates) => cases.map(({ answers }) => voteOf(answers, candidates)));
  const plain = Array.from({ length: most }, (_, i) => plainly(cases, i + 1));
  const ended = AGREEMENTS.map((agreement) => cases.map(({ answers }) => voteOf(answers, most, agreement)));
  const isKnown = cases.every(({ answers }) =>
    answers.every(({ said, nll }) => said === null || nll !== null),
  );
  const weightings = isKnown ? WEIGHTINGS : [];
  const right = [
    cases.map(({ answers }) => answers[0].right),
    ...[...outcomes, ...ended].map((each) => each.map((one) => one.right)),
    ...plain.map((one) => one.right),
    ...weightings.map((way) => cases.map(({ answers }) => surest(answers.slice(0, 1 + most), way).right)),
  ];
  const [ofFirst, ...others] = resample(
    cases.length,
    (weights) => right.map((each) => share(each, weights)),
    options,
  );
  const ofVotes = others.slice(0, counts.length);
  const ofEnded = others.slice(counts.length, counts.length + ended.length);
  const ofPlain = others.slice(counts.length + ended.length);
  const ofWeighted = ofPlain.slice(plain.length);
  const difference = (a: Resampled, b: Resampled): Estimate => bootstrapDifference(a, b).difference;
  const firstTokens = mean(cases.map(({ answers }) => answers[0].tokens));
  const some = cases.map(({ id, answers, scores, length }, i) => ({
    id,
    scores: new Map(scores).set(ANSWER_LENGTH, answers[0].tokens).set(QUESTION_LENGTH, length),
    small: answers[0],
    large: outcomes.at(-1)![i]!,
  }));
  return {
    questions: cases.length,
    accuracy: percentileInterval(ofFirst!),
    tokens: firstTokens,
    all: counts.map((candidates, i) => ({
      candidates,
      accuracy: percentileInterval(ofVotes[i]!),
      gain: difference(ofVotes[i]!, ofFirst!),
      tokens: {
        all: plain[candidates - 1]!.tokens,
        drawn: firstTokens + mean(outcomes[i]!.map(({ tokens }) => tokens)),
      },
    })),
    agreeing: AGREEMENTS.map((agreement, i) => {
      const tokens = firstTokens + mean(ended[i]!.map((one) => one.tokens));
      const away = plain.map((one) => Math.abs(one.tokens - tokens));
      const control = away.indexOf(Math.min(...away));
      return {
        agreement,
        accuracy: percentileInterval(ofEnded[i]!),
        gain: difference(ofEnded[i]!, ofFirst!),
        lost: difference(ofEnded[i]!, ofVotes.at(-1)!),
        tokens,
        share: tokens / plain.at(-1)!.tokens,
        control: {
          candidates: control + 1,
          tokens: plain[control]!.tokens,
          more: difference(ofEnded[i]!, ofPlain[control]!),
        },
      };
    }),
    weighted: weightings.map((way, i) => ({
      way,
      accuracy: percentileInterval(ofWeighted[i]!),
      more: difference(ofWeighted[i]!, ofVotes.at(-1)!),
    })),
    some: withoutPrices(escalations(some, { shares, prices: { small: 1, large: 1 }, ...options })),
  };
}

/** Without what asking another model at once would be worth. */
const withoutPrices = ({ ways, ...table }: EscalationTable): EscalationTable<SharePoint> => ({
  ...table,
  ways: ways.map(({ points, ...way }) => ({
    ...way,
    points: points.map(({ overMixing: _, paysFrom: __, ...point }) => point),
  })),
});

const AGREEMENTS = [0.5, 0.6, 0.75];

/** Votes with so many further answers to every question: which winners are right, and the mean tokens of a question. */
const plainly = (cases: readonly VoteCase[], candidates: number) => ({
  right: cases.map(({ answers }) => voteOf(answers, candidates).right),
  tokens: mean(cases.map(({ answers }) => sum(answers.slice(0, 1 + candidates).map(({ tokens }) => tokens)))),
});

/** The winner, as the gateway's votes find it, and the tokens of the further answers that are drawn until then. */
function voteOf(
  answers: readonly VotingAnswer[],
  candidates: number,
  agreement: number | null = null,
): { readonly right: boolean; readonly tokens: number } {
  let drawn = answers.slice(0, 1);
  for (;;) {
    const said = drawn.map((answer) => answer.said);
    const needed = answersNeeded(said, 1 + candidates, agreement);
    if (needed === 0) {
      const { right } = answers[elected(said).index]!;
      return { right, tokens: sum(drawn.slice(1).map(({ tokens }) => tokens)) };
    }
    drawn = answers.slice(0, drawn.length + needed);
  }
}

/**
 * Votes weighted by the mean probability of an answer's tokens (geometric), one vote for each of the surer half of the
 * answers (DeepConf, arXiv 2508.15260), and the surest answer alone.
 */
const WEIGHTINGS = ['probability', 'surer half', 'surest'] as const;
type Weighting = (typeof WEIGHTINGS)[number];

/** @param answers of which those with a vote have an NLL */
function surest(answers: readonly VotingAnswer[], way: Weighting): VotingAnswer {
  const order = answers.filter(({ said }) => said !== null).toSorted((a, b) => a.nll! - b.nll!);
  if (order.length === 0) return answers[0]!;
  const counted = way === 'surest' ? 1 : way === 'surer half' ? Math.ceil(order.length / 2) : order.length;
  const votes = new Map<string, number>();
  for (const { said, nll } of order.slice(0, counted))
    votes.set(said!, (votes.get(said!) ?? 0) + (way === 'probability' ? Math.exp(-nll!) : 1));
  // Between contents with as many votes, that of the surest answer wins.
  const [winner] = [...votes].reduce((best, each) => (each[1] > best[1] ? each : best));
  return order.find(({ said }) => said === winner)!;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;

const share = (right: readonly boolean[], weights: Uint32Array): number =>
  right.reduce((total, one, i) => total + (one ? weights[i]! : 0), 0) /
  weights.reduce((total, one) => total + one, 0);
