import { areas } from '#bench/statistics/areas.js';
import { type Resampled, resample } from '#bench/statistics/bootstrap.js';
import { rank } from '#bench/statistics/ranking.js';
import { FOLDS, foldOf, type Step } from './step-scores.js';

/** Rate of false alarms that thresholds are set for. */
export const RATE = 0.05;

/** How well scores tell first wrong steps from right ones. */
export interface Detection {
  readonly averagePrecision: Resampled;
  readonly auroc: Resampled;
  /** With the threshold that no more than {@link RATE} of the right steps of other answers pass. */
  readonly recall: Resampled;
  readonly falseAlarms: Resampled;
}

/**
 * Answers are drawn again, the same ones for all scores.
 * @param scores by name, of each step
 */
export function evaluate(
  steps: readonly Step[],
  scores: ReadonlyMap<string, readonly number[]>,
): Map<string, Detection> {
  const wrong = steps.map((step) => step.wrong);
  const answers = steps.map(({ answer }) => answer);
  const judged = [...scores.values()].map((some) => ({
    ranking: rank(some, wrong, answers),
    flags: flagged(steps, some),
  }));
  const kinds = [true, false].map((kind) => wrong.flatMap((one, i) => (one === kind ? [i] : [])));
  const all = resample(answers.at(-1)! + 1, (weights) => {
    const count = (some: readonly number[]): number =>
      some.reduce((sum, i) => sum + weights[answers[i]!]!, 0);
    const totals = kinds.map(count);
    return judged.flatMap(({ ranking, flags }) => {
      const { averagePrecision, auroc } = areas(ranking, weights);
      return [averagePrecision, auroc, ...flags.map((some, kind) => count(some) / totals[kind]!)];
    });
  });
  return new Map(
    [...scores.keys()].map((name, i) => {
      const [averagePrecision, auroc, recall, falseAlarms] = all.slice(4 * i, 4 * (i + 1));
      return [
        name,
        {
          averagePrecision: averagePrecision!,
          auroc: auroc!,
          recall: recall!,
          falseAlarms: falseAlarms!,
        },
      ];
    }),
  );
}

/** The wrong and the right steps whose scores pass the threshold that holds in the other parts. */
function flagged(
  steps: readonly Step[],
  scores: readonly number[],
): readonly [wrong: number[], right: number[]] {
  const thresholds = Array.from({ length: FOLDS }, (_, fold) => {
    const right = scores
      .filter((_, i) => !steps[i]!.wrong && foldOf(steps[i]!) !== fold)
      .sort((a, b) => b - a);
    return right[Math.floor(RATE * right.length)] ?? Number.POSITIVE_INFINITY;
  });
  const flags = [...scores.keys()].filter((i) => scores[i]! > thresholds[foldOf(steps[i]!)]!);
  return [flags.filter((i) => steps[i]!.wrong), flags.filter((i) => !steps[i]!.wrong)];
}

/** In the mean over sets. */
export function meanOf(all: readonly Resampled[]): Resampled {
  const mean = (of: (one: Resampled) => number): number =>
    all.reduce((sum, one) => sum + of(one), 0) / all.length;
  return {
    value: mean(({ value }) => value),
    resamples: all[0]!.resamples.map((_, i) => mean(({ resamples }) => resamples[i]!)),
  };
}
