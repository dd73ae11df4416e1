import type { Evaluation } from '../records/evaluation.js';
import { type BootstrapOptions, bootstrapDifference, resample } from '../statistics/bootstrap.js';
import { holm } from '../statistics/holm.js';
import { countPairs, mcnemar, pairedDifference } from '../statistics/paired.js';
import { CHANCE } from './case.js';
import type { Detector } from './detection.js';
import type { Hits } from './hits.js';
import { written } from './measure-table.js';

type PairedRow = Evaluation['paired'][number];
type Compared = Omit<PairedRow, 'adjusted' | 'tests'>;

/** The paper's measure, which the others are compared with: offline if the run has it, else the first schedule of it. */
export const mainMeasure = (measures: readonly string[]): string | undefined =>
  measures.find((name) => name === 'adversarial') ?? measures.find((name) => /^adversarial\b/.test(name));

/**
 * The main measure and each other one on the same cases, by the same aggregation of tokens; those that score steps
 * themselves against its sums. Where each case is a hit or none it is McNemar's test; hits that ties make fractions are
 * resampled.
 */
export function pairedHits(
  level: 'token' | 'step',
  all: readonly Hits[],
  main: string,
  options: BootstrapOptions,
): PairedRow[] {
  const rows = pairsOf(all, main).flatMap(([ours, other]): Compared[] => {
    return Object.entries(other.metrics).map(([metric, hits]) => ({
      level,
      metric,
      a: main,
      b: other.measure,
      aggregation: other.aggregation,
      n: hits.length,
      ...compareHits(ours.metrics[metric]!, hits, options),
    }));
  });
  return adjust(rows);
}

function compareHits(
  a: readonly number[],
  b: readonly number[],
  options: BootstrapOptions,
): Pick<Compared, 'difference' | 'test' | 'p'> {
  const whole = (hit: number): boolean => hit === 0 || hit === 1;
  if (a.every(whole) && b.every(whole)) {
    const counts = countPairs(a.map(Boolean), b.map(Boolean));
    return { difference: written(pairedDifference(counts)), test: 'mcnemar', p: mcnemar(counts) };
  }
  const mean = (hits: readonly number[], weights: Uint32Array): number =>
    hits.reduce((sum, hit, i) => sum + hit * weights[i]!, 0) / hits.length;
  const [first, second] = resample(a.length, (weights) => [mean(a, weights), mean(b, weights)], options);
  const { difference, p } = bootstrapDifference(first!, second!);
  return { difference: written(difference), test: 'bootstrap', p };
}

/** The same for areas under curves, which have no test but the resamples that they share. */
export function pairedAreas(
  level: 'response' | 'claim' | 'pooled',
  all: readonly Detector[],
  main: string,
  n: number,
): PairedRow[] {
  const rows = pairsOf(all, main).flatMap(([ours, other]): Compared[] => {
    // Without an example of one of the two kinds there is nothing to compare, average precision included.
    if (other.measure === CHANCE || Number.isNaN(ours.auroc.value)) return [];
    return (['auroc', 'averagePrecision'] as const).map((metric) => {
      const { difference, p } = bootstrapDifference(ours[metric], other[metric]);
      return {
        level,
        metric,
        a: main,
        b: other.measure,
        aggregation: other.aggregation,
        n,
        difference: written(difference),
        test: 'bootstrap' as const,
        p,
      };
    });
  });
  return adjust(rows);
}

/**
 * The main measure's scores and those that they are compared with. Sums of what has scores of its own beside them are
 * left out: one hypothesis is not to be tested twice.
 */
function pairsOf<T extends Pick<Hits | Detector, 'measure' | 'aggregation'>>(
  all: readonly T[],
  main: string,
): (readonly [ours: T, other: T])[] {
  const own = new Set(all.filter(({ aggregation }) => aggregation === 'own').map(({ measure }) => measure));
  return all.flatMap((other) => {
    const { measure, aggregation } = other;
    if (measure === main || (aggregation === 'sum' && own.has(measure))) return [];
    const wanted = aggregation === 'own' ? 'sum' : aggregation;
    const ours = all.find((one) => one.measure === main && one.aggregation === wanted);
    return ours ? [[ours, other] as const] : [];
  });
}

/** Hits of no cases have no difference: they were not compared. */
const isCompared = ({ difference }: Compared): boolean => difference.value !== null;

/**
 * One family of tests is all measures at their usual settings that the main one is compared with by one metric and
 * aggregation, `own` beside sums; what other settings come to is a question, and a family, of its own.
 */
function adjust(all: readonly Compared[]): PairedRow[] {
  const rows = all.filter(isCompared);
  const familyOf = ({ b, metric, aggregation }: Compared): string =>
    `${b.includes(':')} ${metric} ${aggregation === 'own' ? 'sum' : aggregation}`;
  const families = new Map<string, number[]>();
  for (const [i, row] of rows.entries()) {
    const family = families.get(familyOf(row)) ?? [];
    families.set(familyOf(row), [...family, i]);
  }
  const adjusted: PairedRow[] = [];
  for (const family of families.values()) {
    const values = holm(family.map((i) => rows[i]!.p));
    for (const [j, i] of family.entries())
      adjusted[i] = { ...rows[i]!, adjusted: values[j]!, tests: family.length };
  }
  return adjusted;
}
