import { mean, quantile, sampleStandardDeviation } from 'simple-statistics';
import { STATISTICS, type Statistic } from '#src/risk/risk.js';
import { type LinearProbe, trainProbe } from '../detection/linear-probe.js';
import type { LabelledStep, StepSet } from './answer-set.js';

/** What a detector needs beside the scores of the step itself; a control has none of these. */
export type Needs = 'nothing' | 'other answers' | 'the whole answer' | 'labels' | 'no score';

/** A score for each step of a set. */
export interface Detector {
  readonly name: string;
  readonly needs: Needs;
  /** Whether it needs passes, which cost more than writing. */
  readonly passes: boolean;
  readonly scores: readonly number[];
}

/** Answers are dealt out to so many parts, and what a step is compared with is of the other parts. */
export const FOLDS = 5;
export const foldOf = ({ answer }: LabelledStep): number => answer % FOLDS;

const needsPasses = (measure: string): boolean => /^(adversarial|random|tokur)/.test(measure);
const isAdversarial = (measure: string): boolean => measure.startsWith('adversarial');
const ENTROPY = 'entropy';

/**
 * Single measures by each statistic; combinations of Adv. Pert. and entropy; what is known only when the answer is
 * finished; and what labels would buy.
 * @param labelled another set, whose labels the last ones are trained on; by default the other parts of this one
 */
export function detectorsOf(set: StepSet, labelled?: StepSet): Detector[] {
  const { steps, measures } = set;
  const of = (measure: string, statistic: Statistic): number[] =>
    steps.map((step) => scoreOf(step, measure, statistic));
  const single = measures.flatMap((measure) =>
    STATISTICS.map((statistic): Detector => {
      const name = `${measure}, ${statistic}`;
      return { name, needs: 'nothing', passes: needsPasses(measure), scores: of(measure, statistic) };
    }),
  );
  const control = (name: string, scores: readonly number[]): Detector => {
    return { name, needs: 'no score', passes: false, scores };
  };
  return [
    ...single,
    ...(measures.includes(ENTROPY) ? measures.filter(isAdversarial) : []).flatMap((measure) =>
      (['max', 'sum'] as const).flatMap((statistic) => joined(steps, measure, statistic)),
    ),
    ...measures
      .filter((measure) => measure === ENTROPY || isAdversarial(measure))
      .flatMap((measure) => compared(steps, measure)),
    control(
      'length',
      steps.map(({ tokens }) => tokens),
    ),
    control(
      'position',
      steps.map(({ place }) => place),
    ),
    ...[measures.filter((measure) => !needsPasses(measure)), measures].map((used, i): Detector => {
      const name = `logistic regression${i === 0 ? ', without passes' : ''}`;
      const scores = logOdds(steps, used, labelled?.steps);
      return { name, needs: 'labels', passes: i === 1, scores };
    }),
  ];
}

/** Mean and maximum of the ranks of Adv. Pert. and entropy. */
function joined(steps: readonly LabelledStep[], measure: string, statistic: Statistic): Detector[] {
  const ranks = [measure, ENTROPY].map((one) =>
    conformalRanks(
      steps,
      steps.map((step) => scoreOf(step, one, statistic)),
    ),
  );
  const by = (how: string, join: (a: number, b: number) => number): Detector => ({
    name: `${how} of ${measure} and ${ENTROPY}, ${statistic}`,
    needs: 'other answers',
    passes: true,
    scores: ranks[0]!.map((rank, i) => join(rank, ranks[1]![i]!)),
  });
  return [by('mean', (a, b) => (a + b) / 2), by('maximum', Math.max)];
}

/** The sum of a step beside those of others. */
function compared(steps: readonly LabelledStep[], measure: string): Detector[] {
  const sums = steps.map((step) => scoreOf(step, measure, 'sum'));
  const passes = needsPasses(measure);
  return [
    {
      name: `${measure}, sum, among steps of like length`,
      needs: 'other answers',
      passes,
      scores: conformalRanks(steps, sums, lengthClasses(steps)),
    },
    ...Object.entries(WITHIN).map(([name, within]): Detector => {
      const scores = withinAnswers(steps, sums.map(orNothing), within);
      return { name: `${measure}, sum, ${name}`, needs: 'the whole answer', passes, scores };
    }),
  ];
}

/** What a step's sum is among those of its answer, given all of them. */
const WITHIN: Readonly<Record<string, (sum: number, all: readonly number[]) => number>> = {
  'rank in the answer': (sum, all) => all.filter((other) => other < sum).length / all.length,
  'z-score in the answer': (sum, all) =>
    all.length < 2 ? 0 : (sum - mean(all)) / (sampleStandardDeviation(all) || 1),
  'share of the answer': (sum, all) => sum / (all.reduce((a, b) => a + Math.abs(b), 0) || 1),
};

function withinAnswers(
  steps: readonly LabelledStep[],
  sums: readonly number[],
  within: (sum: number, all: readonly number[]) => number,
): number[] {
  const answers: number[][] = [];
  for (const [i, { answer }] of steps.entries()) {
    answers[answer] ??= [];
    answers[answer].push(sums[i]!);
  }
  return sums.map((sum, i) => within(sum, answers[steps[i]!.answer]!));
}

/**
 * Share of the other parts' steps that score less: 1 less the conformal p-value (Vovk et al., Algorithmic Learning in a
 * Random World, 2005). It needs no labels.
 * @param classes of the steps: only those of the same one are compared
 */
export function conformalRanks(
  steps: readonly LabelledStep[],
  scores: readonly number[],
  classes: readonly number[] = steps.map(() => 0),
): number[] {
  const others = new Map<string, Float64Array>();
  return scores.map((score, i) => {
    const [fold, mine] = [foldOf(steps[i]!), classes[i]];
    const key = `${fold} ${mine}`;
    const sorted =
      others.get(key) ??
      Float64Array.from(scores.filter((_, j) => foldOf(steps[j]!) !== fold && classes[j] === mine)).sort();
    others.set(key, sorted);
    const atLeast = sorted.length - lowerBound(sorted, score);
    return 1 - (1 + atLeast) / (1 + sorted.length);
  });
}

/** How many of ascending numbers are less. */
function lowerBound(sorted: Float64Array, value: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle]! < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Quarters of the steps by their length. */
function lengthClasses(steps: readonly LabelledStep[]): number[] {
  const lengths = steps.map(({ tokens }) => tokens);
  const bounds = [0.25, 0.5, 0.75].map((share) => quantile(lengths, share));
  return lengths.map((length) => bounds.filter((bound) => length > bound).length);
}

/** Sums, means and largest tokens of all measures, length and place. */
function logOdds(
  steps: readonly LabelledStep[],
  measures: readonly string[],
  labelled?: readonly LabelledStep[],
): number[] {
  const features = (step: LabelledStep): number[] => [
    ...measures.flatMap((measure) =>
      STATISTICS.map((statistic) => orNothing(scoreOf(step, measure, statistic))),
    ),
    step.tokens,
    step.place,
  ];
  const train = (some: readonly LabelledStep[]): LinearProbe =>
    trainProbe(
      some
        .filter(({ label }) => label !== 'after')
        .map((step) => ({ features: features(step), positive: step.label === 'wrong', group: step.answer })),
    );
  if (labelled) return steps.map(features).map(train(labelled));
  const probes = Array.from({ length: FOLDS }, (_, fold) =>
    train(steps.filter((step) => foldOf(step) !== fold)),
  );
  return steps.map((step) => probes[foldOf(step)]!(features(step)));
}

/** A step that was skipped as a whole has nothing doubtful in it. */
const orNothing = (score: number): number => (Number.isFinite(score) ? score : 0);

const scoreOf = ({ scores }: LabelledStep, measure: string, statistic: Statistic): number =>
  scores.get(measure)![statistic];
