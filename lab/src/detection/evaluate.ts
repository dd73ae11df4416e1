import { median } from 'simple-statistics';
import { areas } from '#bench/statistics/areas.js';
import { bootstrapDifference, percentileInterval, resample } from '#bench/statistics/bootstrap.js';
import type { Estimate } from '#bench/statistics/estimate.js';
import { rank } from '#bench/statistics/ranking.js';
import { wilson } from '#bench/statistics/wilson.js';
import { STATISTICS, type Statistic, stepScore } from '#src/risk/risk.js';
import { recallsAt } from '../recall.js';
import type { Labelled, LinearProbe } from './linear-probe.js';
import { type Promised, promises, type RatedAnswer } from './promises.js';
import type { ScoredAnswer } from './scored-answer.js';

export const RATES = [0.01, 0.02, 0.05] as const;
/** Rate of the groups, of the delays and of the comparison of rows. */
export const RATE = 0.02;

/** How well a score tells first wrong steps from right ones. */
export interface Detector {
  readonly measure: string;
  readonly statistic: Statistic | 'length' | 'probe';
  /**
   * Share of first wrong steps that is flagged, at the threshold that flags this share of right ones: one for
   * each of the rates.
   */
  readonly recall: readonly Estimate[];
  readonly averagePrecision: Estimate;
  readonly auroc: Estimate;
  /** How much larger its recall at 2 % is than that of {@link REFERENCE}. */
  readonly difference: Estimate | null;
  /** Tokens from the first wrong one to the one that the flag is known at: with the step's end, and as soon as the score passes. */
  readonly delay: { readonly atEnd: number; readonly live: number } | null;
}

/** Detector that the others are compared with: the guard's default. */
export const REFERENCE = 'nll, sum';

/** The steps of a kind, at the threshold that flags 2 % of all right steps. */
export interface Group {
  readonly of: string;
  readonly right: number;
  readonly falseAlarms: Estimate;
  readonly wrong: number;
  readonly recall: Estimate;
}

export interface Detection {
  readonly answers: number;
  readonly rightAnswers: number;
  readonly steps: number;
  readonly firstWrong: number;
  readonly detectors: readonly Detector[];
  /** Groups by measure and statistic. */
  readonly groups: Readonly<Record<string, readonly Group[]>>;
  /** Promises by measure and statistic. */
  readonly promises: Readonly<Record<string, readonly Promised[]>>;
}

interface Step {
  readonly answer: ScoredAnswer;
  readonly group: number;
  readonly step: number;
  readonly from: number;
  readonly to: number;
  readonly wrong: boolean;
}

/** The steps up to the first wrong one: what follows an error is neither right nor wrong of itself. */
const stepsOf = (answers: readonly ScoredAnswer[]): Step[] =>
  answers.flatMap((answer, group) =>
    answer.steps
      .slice(0, (answer.firstWrong ?? answer.steps.length - 1) + 1)
      .map((span, step) => ({ answer, group, step, ...span, wrong: step === answer.firstWrong })),
  );

interface Scorer {
  readonly measure: string;
  readonly statistic: Detector['statistic'];
  readonly score: (step: Step) => number;
}

const tokenScores = (measure: string, { answer, from, to }: Step): number[] =>
  answer.scores[measure]!.slice(from, to);

const scorersOf = (measures: readonly string[]): Scorer[] => [
  ...measures.flatMap((measure) =>
    STATISTICS.map((statistic): Scorer => {
      return { measure, statistic, score: (step) => stepScore(statistic, tokenScores(measure, step)) };
    }),
  ),
  { measure: 'tokens', statistic: 'length', score: ({ from, to }) => to - from },
];

/** Probe that was trained on labels of other answers. */
export interface Supervised {
  readonly name: string;
  readonly probe: LinearProbe;
}

/** Labels of the same steps as those that are evaluated. */
export const labelled = (answers: readonly ScoredAnswer[]): Labelled[] =>
  stepsOf(answers).map(({ answer, group, step, wrong }) => ({
    features: answer.hidden[step]!,
    positive: wrong,
    group,
  }));

/**
 * @param grouped the measures and statistics whose groups and promises are evaluated, in the form of {@link
 * nameOf}
 * @param supervised a further row
 */
export function evaluate(
  answers: readonly ScoredAnswer[],
  grouped: readonly string[],
  supervised?: Supervised,
): Detection {
  const steps = stepsOf(answers);
  const scorers = scorersOf(Object.keys(answers[0]?.scores ?? {}));
  if (supervised) {
    const { name, probe } = supervised;
    const score = ({ answer, step }: Step): number => probe(answer.hidden[step]!);
    scorers.push({ measure: name, statistic: 'probe', score });
  }
  const labels = steps.map(({ wrong }) => wrong);
  const groups = steps.map(({ group }) => group);
  const rankings = scorers.map(({ score }) => rank(steps.map(score), labels, groups));
  const perScorer = RATES.length + 2;
  const resampled = resample(answers.length, (weights) =>
    rankings.flatMap((ranking) => {
      const { auroc, averagePrecision } = areas(ranking, weights);
      return [...recallsAt(ranking, RATES, weights), averagePrecision, auroc];
    }),
  );
  const compared = RATES.indexOf(RATE);
  const reference = scorers.findIndex((scorer) => nameOf(scorer) === REFERENCE);
  const looked = <T>(at: (scorer: Scorer) => T): Record<string, T> =>
    Object.fromEntries(
      scorers
        .filter((scorer) => grouped.includes(nameOf(scorer)))
        .map((scorer) => [nameOf(scorer), at(scorer)]),
    );
  const detectors = scorers.map(({ measure, statistic, score }, i): Detector => {
    const mine = resampled.slice(i * perScorer, (i + 1) * perScorer);
    const [averagePrecision, auroc] = mine.slice(RATES.length).map(percentileInterval);
    return {
      measure,
      statistic,
      recall: mine.slice(0, RATES.length).map(percentileInterval),
      averagePrecision: averagePrecision!,
      auroc: auroc!,
      difference:
        i === reference
          ? null
          : bootstrapDifference(mine[compared]!, resampled[reference * perScorer + compared]!).difference,
      delay:
        statistic === 'length' || statistic === 'probe'
          ? null
          : delayOf(steps, measure, statistic, thresholdOf(steps, score)),
    };
  });
  return {
    answers: answers.length,
    rightAnswers: answers.filter(({ right }) => right).length,
    steps: steps.length,
    firstWrong: labels.filter(Boolean).length,
    detectors,
    groups: looked(({ score }) => groupsOf(steps, score)),
    promises: looked(({ score }) => promises(answers.map((answer) => ratedAnswer(answer, score)))),
  };
}

function ratedAnswer(answer: ScoredAnswer, score: Scorer['score']): RatedAnswer {
  const { right, firstWrong, steps } = answer;
  const last = steps.length - 1;
  return {
    right: right && firstWrong === null && steps.length > 0,
    firstWrong,
    steps: steps.map(({ from, to }, step) => ({
      score: score({ answer, group: 0, step, from, to, wrong: step === firstWrong }),
      place: step === 0 ? 'first' : step === last ? 'last' : 'between',
      tokens: to - from,
    })),
  };
}

export const nameOf = ({ measure, statistic }: Pick<Detector, 'measure' | 'statistic'>): string =>
  `${measure}, ${statistic}`;

/** Scores above it are flagged: no more than 2 % of the right steps. */
function thresholdOf(steps: readonly Step[], score: Scorer['score']): number {
  const right = steps
    .filter(({ wrong }) => !wrong)
    .map(score)
    .sort((a, b) => b - a);
  return right[Math.floor(RATE * right.length)] ?? Number.POSITIVE_INFINITY;
}

/** Medians over the first wrong steps that are flagged. */
function delayOf(
  steps: readonly Step[],
  measure: string,
  statistic: Statistic,
  threshold: number,
): Detector['delay'] {
  const found = steps.filter(
    (step) => step.wrong && stepScore(statistic, tokenScores(measure, step)) > threshold,
  );
  if (found.length === 0) return null;
  const of = (flagAt: (step: Step) => number): number =>
    median(found.map((step) => flagAt(step) - step.answer.wrongToken!));
  const passes = (step: Step): number => {
    const scores = tokenScores(measure, step);
    const first = scores.findIndex((_, i) => stepScore(statistic, scores.slice(0, i + 1)) > threshold);
    return step.from + first;
  };
  return { atEnd: of(({ to }) => to - 1), live: of(statistic === 'mean' ? ({ to }) => to - 1 : passes) };
}

function groupsOf(steps: readonly Step[], score: Scorer['score']): Group[] {
  const threshold = thresholdOf(steps, score);
  const tasks = [...new Set(steps.map(({ answer }) => answer.task))].sort();
  const last = ({ answer, step }: Step): boolean => step === answer.steps.length - 1;
  const kinds: [string, (step: Step) => boolean][] = [
    ...tasks.map((task): [string, (step: Step) => boolean] => [task, ({ answer }) => answer.task === task]),
    ['first steps', ({ step }) => step === 0],
    ['last steps', (step) => step.step > 0 && last(step)],
    ['steps between', (step) => step.step > 0 && !last(step)],
  ];
  const share = (some: readonly Step[]): Estimate =>
    wilson(some.filter((step) => score(step) > threshold).length, some.length);
  return kinds.map(([of, belongs]) => {
    const mine = steps.filter(belongs);
    const [wrong, right] = [mine.filter((step) => step.wrong), mine.filter((step) => !step.wrong)];
    return { of, right: right.length, falseAlarms: share(right), wrong: wrong.length, recall: share(wrong) };
  });
}
