import type { Estimate } from '#bench/statistics/estimate.js';
import { wilson } from '#bench/statistics/wilson.js';

/** A step with its score, and what its threshold may depend on. */
export interface RatedStep {
  readonly score: number;
  readonly place: 'first' | 'between' | 'last';
  readonly tokens: number;
}

export interface RatedAnswer {
  /** All of them. */
  readonly steps: readonly RatedStep[];
  readonly firstWrong: number | null;
  /** Right in its answer and all its steps. */
  readonly right: boolean;
}

/** Actual rate on other answers of a threshold that promises a rate. */
export interface Promised {
  readonly rateOf: 'steps' | 'steps, by place' | 'steps, by length' | 'answers';
  readonly rate: number;
  /** Share of right steps that is flagged, in all and by place. */
  readonly steps: Readonly<Record<'all' | RatedStep['place'], Estimate>>;
  /** Share of right answers with a flag. */
  readonly answers: Estimate;
  /** Share of first wrong steps that is flagged. */
  readonly found: Estimate;
}

const STEP_RATES = [0.02] as const;
const ANSWER_RATES = [0.02, 0.05, 0.1] as const;

/** Whether a step is flagged. */
type Flags = (step: RatedStep) => boolean;

/**
 * Rates of steps and of answers, as promised by conformal thresholds of every other answer and measured on the rest. A
 * rate of steps may hold for steps of one place in the answer, or of one length, each with a threshold of its own
 * (Mondrian); a rate of answers has the threshold of their highest steps.
 */
export function promises(answers: readonly RatedAnswer[]): Promised[] {
  const known = answers.filter((_, i) => i % 2 === 0);
  const fresh = answers.filter((_, i) => i % 2 === 1);
  const ordinary = known.flatMap(ordinarySteps);
  const byLength = [...ordinary].sort((a, b) => a.tokens - b.tokens);
  const thirds = [1, 2].map((third) => byLength[Math.floor((third * byLength.length) / 3)]?.tokens ?? 0);
  const length = ({ tokens }: RatedStep): number => thirds.filter((end) => tokens >= end).length;
  const peaks = known.filter(({ right }) => right).map(({ steps }) => highest(steps));
  const of = (rateOf: Promised['rateOf'], rate: number, flags: Flags): Promised => ({
    rateOf,
    rate,
    ...measure(fresh, flags),
  });
  return [
    ...STEP_RATES.flatMap((rate) => [
      of(
        'steps',
        rate,
        flagsBy(ordinary, rate, () => 0),
      ),
      of(
        'steps, by place',
        rate,
        flagsBy(ordinary, rate, ({ place }) => place),
      ),
      of('steps, by length', rate, flagsBy(ordinary, rate, length)),
    ]),
    ...ANSWER_RATES.map((rate) => {
      const threshold = thresholdOf(peaks, rate);
      return of('answers', rate, ({ score }) => score > threshold);
    }),
  ];
}

const ordinarySteps = ({ steps, firstWrong }: RatedAnswer): readonly RatedStep[] =>
  firstWrong === null ? steps : steps.slice(0, firstWrong);

const highest = (steps: readonly RatedStep[]): number => Math.max(...steps.map(({ score }) => score));

/** Flags with a threshold for each kind of step. */
function flagsBy(ordinary: readonly RatedStep[], rate: number, kindOf: (step: RatedStep) => unknown): Flags {
  const thresholds = new Map(
    [...new Set(ordinary.map(kindOf))].map((kind) => {
      const alike = ordinary.filter((step) => kindOf(step) === kind);
      const scores = alike.map(({ score }) => score);
      return [kind, thresholdOf(scores, rate)] as const;
    }),
  );
  return (step) => step.score > (thresholds.get(kindOf(step)) ?? Number.POSITIVE_INFINITY);
}

/** Threshold that at most this share of the scores exceeds; infinite if there are too few. */
function thresholdOf(scores: readonly number[], rate: number): number {
  const sorted = [...scores].sort((a, b) => a - b);
  return sorted[Math.ceil((1 - rate) * (sorted.length + 1)) - 1] ?? Number.POSITIVE_INFINITY;
}

function measure(
  answers: readonly RatedAnswer[],
  flags: Flags,
): Pick<Promised, 'steps' | 'answers' | 'found'> {
  const ordinary = answers.flatMap(ordinarySteps);
  const share = <T>(of: readonly T[], flagged: (one: T) => boolean): Estimate =>
    wilson(of.filter(flagged).length, of.length);
  const placed = (place: RatedStep['place']): Estimate =>
    share(
      ordinary.filter((step) => step.place === place),
      flags,
    );
  const right = answers.filter((answer) => answer.right);
  const wrong = answers.flatMap(({ steps, firstWrong }) =>
    firstWrong === null ? [] : (steps[firstWrong] ?? []),
  );
  return {
    steps: {
      all: share(ordinary, flags),
      first: placed('first'),
      between: placed('between'),
      last: placed('last'),
    },
    answers: share(right, ({ steps }) => steps.some(flags)),
    found: share(wrong, flags),
  };
}
