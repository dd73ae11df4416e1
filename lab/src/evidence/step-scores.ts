import { type ScoredText, stepScore } from '#src/risk/step-score.js';
import type { Answer, AnswerSet } from './answer-set.js';

export interface Step {
  /** Number of its answer. */
  readonly answer: number;
  /** The first wrong one, else right. */
  readonly wrong: boolean;
  /** Its place in the answer, from 0. */
  readonly place: number;
  /** Its first token, and the one after its last. */
  readonly from: number;
  readonly to: number;
}

export const stepsOf = ({ answers }: AnswerSet): Step[] =>
  answers.flatMap(({ wrong, ends }, answer) =>
    ends.map((to, place): Step => {
      const isWrong = wrong && place === ends.length - 1;
      return { answer, wrong: isWrong, place, from: ends[place - 1] ?? 0, to };
    }),
  );

/** Answers are dealt out to so many parts, and what a step is compared with is of the other parts. */
export const FOLDS = 5;
export const foldOf = ({ answer }: Pick<Step, 'answer'>): number => answer % FOLDS;

/** A change of the sum of a measure over a step. */
export interface Change {
  readonly name: string;
  /** How much it changes: of equally good ones the smallest is taken. */
  readonly size: number;
  /** The sum is multiplied by it. */
  readonly factor?: (step: Step) => number;
  /** So is the score of each token. */
  readonly weight?: (answer: Answer, token: number, step: Step) => number;
  /** The score becomes the rank among first steps, or among the others. */
  readonly ranked?: boolean;
  /** In place of all that. */
  readonly score?: typeof stepScore;
}

const powers = [1 / 8, 1 / 4, 1 / 2];

/** Candidates of docs/design/evaluation.md, section 14, by their kinds, with all settings. */
export const CHANGES = {
  first: [0.75, 0.5, 0.25].map(
    (factor): Change => ({
      ...{ name: `first step × ${factor}`, size: 1 - factor },
      factor: ({ place }) => (place === 0 ? factor : 1),
    }),
  ),
  beginning: [2, 4, 8, 16, 32].map(
    (tokens): Change => ({
      ...{ name: `without the first ${tokens} tokens`, size: tokens },
      weight: (_, token) => Number(token >= tokens),
    }),
  ),
  heads: [1, 2, 4].flatMap((tokens) =>
    [0.5, 0].map(
      (factor): Change => ({
        ...{ name: `first ${tokens} tokens of a step × ${factor}`, size: tokens - factor },
        weight: (_, token, { from }) => (token < from + tokens ? factor : 1),
      }),
    ),
  ),
  rank: [{ name: 'rank among first or other steps', size: 1, ranked: true }] as readonly Change[],
  place: powers.flatMap((power): Change[] => [
    { name: `× step^${power}`, size: power, factor: ({ place }) => (1 + place) ** power },
    { name: `× (1 + token/32)^${power}`, size: power, factor: ({ from }) => (1 + from / 32) ** power },
  ]),
  content: [2, 3, 4].flatMap((times): Change[] => [
    {
      ...{ name: `numbers × ${times}`, size: times },
      weight: ({ content }, token) => ('1='.includes(content[token]!) ? times : 1),
    },
    {
      ...{ name: `numbers and names × ${times}`, size: times },
      weight: ({ content }, token) => (content[token] === '0' ? 1 : times),
    },
  ]),
  length: [1 / 4, 1 / 2].map(
    (power): Change => ({
      ...{ name: `/ tokens^${power}`, size: power },
      factor: ({ from, to }) => Math.max(1, to - from) ** -power,
    }),
  ),
} as const;

export const GUARD_CHANGES: readonly Change[] = [{ name: 'the guard', size: 0, score: stepScore }];

/** Texts of tokens with such {@link Answer.content}. */
const TEXTS: Readonly<Record<string, string>> = { 0: 'a', 1: '1', '=': '=', 2: ' A' };

const tokensOf = ({ content, scores }: Answer, measure: string, { from, to }: Step): ScoredText[] =>
  scores[measure]!.slice(from, to).map((score, i) => ({ text: TEXTS[content[from + i]!]!, score }));

/** A score of each step. */
export function stepScores(set: AnswerSet, measure: string, changes: readonly Change[] = []): number[] {
  const steps = stepsOf(set);
  const own = changes.find((change) => change.score)?.score;
  const scores = steps.map((step) => {
    const answer = set.answers[step.answer]!;
    if (own) return own(tokensOf(answer, measure, step), step.place);
    const weighted = answer.scores[measure]!.slice(step.from, step.to).map((score, i) =>
      changes.reduce((product, { weight }) => product * (weight?.(answer, step.from + i, step) ?? 1), score),
    );
    const sum = weighted.reduce((a, b) => a + b, 0);
    return changes.reduce((product, { factor }) => product * (factor?.(step) ?? 1), sum);
  });
  if (!changes.some(({ ranked }) => ranked)) return scores;
  const isFirst = ({ place }: Step): boolean => place === 0;
  return scores.map((score, i) => {
    const alike = scores.filter(
      (_, j) => foldOf(steps[j]!) !== foldOf(steps[i]!) && isFirst(steps[j]!) === isFirst(steps[i]!),
    );
    return alike.filter((other) => other < score).length / (alike.length + 1);
  });
}
