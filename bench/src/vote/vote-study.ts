import { answersNeeded, elected, type Said } from 'flinch/internals';
import { mean, sum } from 'simple-statistics';
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
  resample,
} from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';

export interface VotingAnswer {
  /** What it says; `null` if it has no vote. */
  readonly said: Said;
  readonly right: boolean;
  readonly tokens: number;
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

export interface VoteTable {
  readonly questions: number;
  /** Of the first answers. */
  readonly accuracy: Estimate;
  readonly tokens: number;
  /** By the number of further answers. */
  readonly all: readonly VoteOfAll[];
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
  const right = [
    cases.map(({ answers }) => answers[0].right),
    ...outcomes.map((each) => each.map((one) => one.right)),
  ];
  const [ofFirst, ...ofVotes] = resample(
    cases.length,
    (weights) => right.map((each) => share(each, weights)),
    options,
  );
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
      gain: bootstrapDifference(ofVotes[i]!, ofFirst!).difference,
      tokens: {
        all: mean(cases.map(({ answers }) => tokensOf(answers.slice(0, 1 + candidates)))),
        drawn: firstTokens + mean(outcomes[i]!.map(({ tokens }) => tokens)),
      },
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

/** The winner, as the gateway's votes find it, and the tokens of the further answers that are drawn until then. */
function voteOf(
  answers: readonly VotingAnswer[],
  candidates: number,
): { readonly right: boolean; readonly tokens: number } {
  let drawn = answers.slice(0, 1);
  for (;;) {
    const said = drawn.map((answer) => answer.said);
    const needed = answersNeeded(said, 1 + candidates);
    if (needed === 0) {
      const { right } = answers[elected(said).index]!;
      return { right, tokens: tokensOf(drawn.slice(1)) };
    }
    drawn = answers.slice(0, drawn.length + needed);
  }
}

const tokensOf = (answers: readonly VotingAnswer[]): number => sum(answers.map(({ tokens }) => tokens));

const share = (right: readonly boolean[], weights: Uint32Array): number =>
  right.reduce((total, one, i) => total + (one ? weights[i]! : 0), 0) /
  weights.reduce((total, one) => total + one, 0);
