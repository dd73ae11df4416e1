import { areas } from '#bench/statistics/areas.js';
import { bootstrapDifference, type Resampled, resample } from '#bench/statistics/bootstrap.js';
import type { Estimate } from '#bench/statistics/estimate.js';
import { rank } from '#bench/statistics/ranking.js';
import type { LabelledStep, StepSet } from './answer-set.js';
import { detectorsOf, FOLDS, foldOf, type Needs } from './detectors.js';

/** Rate of false alarms that thresholds are set for. */
export const RATE = 0.05;

/** How well a detector tells first wrong steps from right ones. */
export interface Detection {
  readonly name: string;
  readonly needs: Needs;
  readonly passes: boolean;
  readonly averagePrecision: Resampled;
  readonly auroc: Resampled;
  /** With the threshold that no more than {@link RATE} of the right steps of other answers pass. */
  readonly recall: Resampled;
  readonly falseAlarms: Resampled;
}

export interface Evaluated {
  readonly name: string;
  readonly detections: readonly Detection[];
}

/** Answers are drawn again, the same ones for all detectors. @param labelled see {@link detectorsOf} */
export function evaluate(set: StepSet, labelled?: StepSet): Evaluated {
  const detectors = detectorsOf(set, labelled);
  const counted = set.steps.flatMap(({ label }, i) => (label === 'after' ? [] : [i]));
  const steps = counted.map((i) => set.steps[i]!);
  const wrong = steps.map(({ label }) => label === 'wrong');
  const answers = steps.map(({ answer }) => answer);
  const judged = detectors.map((detector) => {
    const scores = counted.map((i) => detector.scores[i]!);
    return { ranking: rank(scores, wrong, answers), flags: flagged(steps, scores) };
  });
  const kinds = [true, false].map((kind) => wrong.flatMap((one, i) => (one === kind ? [i] : [])));
  const all = resample(set.answers, (weights) => {
    const count = (some: readonly number[]): number =>
      some.reduce((sum, i) => sum + weights[answers[i]!]!, 0);
    const totals = kinds.map(count);
    return judged.flatMap(({ ranking, flags }) => {
      const { averagePrecision, auroc } = areas(ranking, weights);
      return [averagePrecision, auroc, ...flags.map((some, kind) => count(some) / totals[kind]!)];
    });
  });
  return {
    name: set.name,
    detections: detectors.map(({ name, needs, passes }, d) => {
      const [averagePrecision, auroc, recall, falseAlarms] = all.slice(4 * d, 4 * (d + 1));
      return {
        name,
        needs,
        passes,
        averagePrecision: averagePrecision!,
        auroc: auroc!,
        recall: recall!,
        falseAlarms: falseAlarms!,
      };
    }),
  };
}

/** The wrong and the right steps whose scores pass the threshold that holds in the other parts. */
function flagged(
  steps: readonly LabelledStep[],
  scores: readonly number[],
): readonly [wrong: number[], right: number[]] {
  const thresholds = Array.from({ length: FOLDS }, (_, fold) => {
    const right = scores
      .filter((_, i) => steps[i]!.label === 'right' && foldOf(steps[i]!) !== fold)
      .sort((a, b) => b - a);
    return right[Math.floor(RATE * right.length)] ?? Number.POSITIVE_INFINITY;
  });
  const flags = [...scores.keys()].filter((i) => scores[i]! > thresholds[foldOf(steps[i]!)]!);
  return [flags.filter((i) => steps[i]!.label === 'wrong'), flags.filter((i) => steps[i]!.label === 'right')];
}

export interface Choice {
  readonly chosen: string;
  readonly best: string;
  readonly second: string;
  /** Average precision of the best one less that of the second. */
  readonly difference: Estimate;
}

/**
 * The rule, fixed before the other sets were looked at: of detectors that a guard can have (no labels, no end of the
 * answer, and no control), the one of the highest average precision, in the mean over the sets, if the interval of its lead over the
 * second leaves out 0, else the cheaper of the two, or the best of equal price.
 */
export function choose(sets: readonly Evaluated[]): Choice {
  const [first] = sets;
  const eligible = first!.detections
    .filter(({ needs }) => needs === 'nothing' || needs === 'other answers')
    .map(({ name, passes }) => ({ name, passes, precision: meanOver(sets, name) }))
    .sort((a, b) => b.precision.value - a.precision.value);
  const [best, second] = eligible;
  const { difference } = bootstrapDifference(best!.precision, second!.precision);
  const isClear = difference.interval !== null && difference.interval[0] > 0;
  const chosen = !isClear && best!.passes && !second!.passes ? second! : best!;
  return { chosen: chosen.name, best: best!.name, second: second!.name, difference };
}

/** Average precision of a detector in the mean over sets. */
export function meanOver(sets: readonly Evaluated[], name: string): Resampled {
  const all = sets.map(({ detections }) => detections.find((one) => one.name === name)!.averagePrecision);
  const mean = (of: (one: Resampled) => number): number =>
    all.reduce((sum, one) => sum + of(one), 0) / all.length;
  return {
    value: mean(({ value }) => value),
    resamples: all[0]!.resamples.map((_, i) => mean(({ resamples }) => resamples[i]!)),
  };
}
