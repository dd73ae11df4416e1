import { AGGREGATIONS, type Aggregation } from '#bench/steps/aggregation.js';
import type { LabelledStep, StepSet } from './answer-set.js';
import { type LinearProbe, trainProbe } from './linear-probe.js';

/** What a detector needs beside the scores of the step itself; a control has none of these. */
export type Needs = 'nothing' | 'other answers' | 'labels' | 'no score';

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
const ENTROPY = 'entropy';

/**
 * The sum of each measure over a step; Adv. Pert. and entropy joined; controls; and what labels would buy.
 * @param labelled another set, whose labels the last ones are trained on; by default the other parts of this one
 */
export function detectorsOf(set: StepSet, labelled?: StepSet): Detector[] {
  const { steps, measures } = set;
  const sumOf = (measure: string): number[] => steps.map((step) => scoreOf(step, measure, 'sum'));
  const control = (name: string, of: (step: LabelledStep) => number): Detector => ({
    name,
    needs: 'no score',
    passes: false,
    scores: steps.map(of),
  });
  return [
    ...measures.map((measure): Detector => {
      const passes = needsPasses(measure);
      return { name: measure, needs: 'nothing', passes, scores: sumOf(measure) };
    }),
    ...measures
      .filter((measure) => measure.startsWith('adversarial') && measures.includes(ENTROPY))
      .flatMap((measure) => joined(steps, measure, sumOf(measure), sumOf(ENTROPY))),
    control('length', ({ tokens }) => tokens),
    control('position', ({ place }) => place),
    ...[measures.filter((measure) => !needsPasses(measure)), measures].map((used, i): Detector => {
      const name = `regression${i === 0 ? ' without passes' : ''}`;
      const scores = logOdds(steps, used, labelled?.steps);
      return { name, needs: 'labels', passes: i === 1, scores };
    }),
  ];
}

/** Mean and maximum of the ranks of Adv. Pert. and entropy. */
function joined(
  steps: readonly LabelledStep[],
  measure: string,
  ...scores: readonly [readonly number[], readonly number[]]
): Detector[] {
  const [ranks, others] = [conformalRanks(steps, scores[0]), conformalRanks(steps, scores[1])];
  const by = (how: string, join: (a: number, b: number) => number): Detector => ({
    name: `${how} of ${measure}, ${ENTROPY}`,
    needs: 'other answers',
    passes: true,
    scores: ranks.map((rank, i) => join(rank, others[i]!)),
  });
  return [by('mean', (a, b) => (a + b) / 2), by('maximum', Math.max)];
}

/**
 * Share of the other parts' steps that score less: 1 less the conformal p-value (Vovk et al., Algorithmic Learning in a
 * Random World, 2005). It needs no labels.
 */
export function conformalRanks(steps: readonly LabelledStep[], scores: readonly number[]): number[] {
  const others = Array.from({ length: FOLDS }, (_, fold) =>
    scores.filter((_, i) => foldOf(steps[i]!) !== fold),
  );
  return scores.map((score, i) => {
    const compared = others[foldOf(steps[i]!)]!;
    const atLeast = compared.filter((other) => other >= score).length;
    return 1 - (1 + atLeast) / (1 + compared.length);
  });
}

/** Sums, means and largest tokens of all measures, length and place. */
function logOdds(
  steps: readonly LabelledStep[],
  measures: readonly string[],
  labelled?: readonly LabelledStep[],
): number[] {
  const features = (step: LabelledStep): number[] => [
    ...measures.flatMap((measure) =>
      AGGREGATIONS.map((statistic) => orNothing(scoreOf(step, measure, statistic))),
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

const scoreOf = ({ scores }: LabelledStep, measure: string, statistic: Aggregation): number =>
  scores.get(measure)![statistic];
