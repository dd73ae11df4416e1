import { areas } from '#bench/statistics/areas.js';
import { bootstrapDifference, type Resampled, resample } from '#bench/statistics/bootstrap.js';
import type { Estimate } from '#bench/statistics/estimate.js';
import { rank } from '#bench/statistics/ranking.js';
import { recallsAt } from '../recall.js';
import { LENGTH, POSITION, type UnitSet } from './units.js';

export type Aggregated = UnitSet['columns'][number][1];

/** How well one measure, by one aggregation, tells wrong units from right ones. */
export interface Detection {
  readonly measure: string;
  readonly aggregation: Aggregated;
  readonly units: number;
  readonly wrong: number;
  readonly auroc: Resampled;
  readonly averagePrecision: Resampled;
  /** Recall by share of false alarms, {@link RATES}. */
  readonly recall: readonly Resampled[];
}

export const RATES = [0.02, 0.05];

/** Answers are drawn again, 1000 times, the same ones for all measures. */
export function detect({ answers, columns, units }: UnitSet): Detection[] {
  const rankings = columns.map((_, column) => {
    const scored = units.filter((unit) => unit[2 + column] !== null);
    const wrong = scored.map((unit) => unit[1] === 1);
    const ranking = rank(
      scored.map((unit) => unit[2 + column]!),
      wrong,
      scored.map(([answer]) => answer),
    );
    return { ranking, units: scored.length, wrong: wrong.filter(Boolean).length };
  });
  const all = resample(answers, (multiplicities) =>
    rankings.flatMap(({ ranking }) => {
      const { auroc, averagePrecision } = areas(ranking, multiplicities);
      return [auroc, averagePrecision, ...recallsAt(ranking, RATES, multiplicities)];
    }),
  );
  const each = 2 + RATES.length;
  return columns.map(([measure, aggregation], i) => {
    const [auroc, averagePrecision, ...recall] = all.slice(i * each, (i + 1) * each);
    const { units, wrong } = rankings[i]!;
    return {
      measure,
      aggregation,
      units,
      wrong,
      auroc: auroc!,
      averagePrecision: averagePrecision!,
      recall,
    };
  });
}

/** The simplest things to go by: no scoring at all, or what any server sends. */
export const SIMPLE = ['nll', LENGTH, POSITION];
/** Measures of one forward pass, without any perturbation. */
export const ONE_PASS = ['nll', 'entropy', 'margin'];

export interface Difference {
  readonly control: Detection;
  readonly auroc: Estimate;
  readonly p: number;
}

/**
 * A detection's AUROC minus that of the best of some measures, by whichever aggregation, on the same units. The best is
 * chosen on the very same units, which favours it.
 */
export function against(
  ours: Detection,
  detections: readonly Detection[],
  measures: readonly string[],
): Difference {
  const control = detections
    .filter(({ measure }) => measures.includes(measure))
    .reduce((best, other) => (other.auroc.value > best.auroc.value ? other : best));
  const { difference, p } = bootstrapDifference(ours.auroc, control.auroc);
  return { control, auroc: difference, p };
}

/** The units that all measures have scored: expensive measures are run on fewer answers, and all compared on these. */
export const commonUnits = (set: UnitSet): UnitSet => ({
  ...set,
  units: set.units.filter((unit) => !unit.includes(null)),
});

/** Removes measures that have not scored all units. */
export function completeMeasures(set: UnitSet): UnitSet {
  const kept = set.columns.flatMap((_, i) => (set.units.every((unit) => unit[2 + i] !== null) ? [i] : []));
  return {
    ...set,
    columns: kept.map((i) => set.columns[i]!),
    units: set.units.map((unit) => [unit[0], unit[1], ...kept.map((i) => unit[2 + i]!)]),
  };
}
