import { mean, sum } from 'simple-statistics';
import { mapValues, recordOf } from '../map-values.js';
import type { Evaluation } from '../records/evaluation.js';
import { wilson } from '../statistics/wilson.js';
import { chanceAmongTop } from '../steps/step-rank.js';
import { type Aggregated, CHANCE, FIRST, type ScoredCase } from './case.js';
import { type Row, type Scopes, scoped } from './measure-table.js';
import { HIT_KS } from './token-rankings.js';

/** Numbers for a paired test: one for each case, in their order. */
export interface Hits<Metric extends string = string> {
  readonly measure: string;
  readonly aggregation: Aggregated | null;
  /** Hits by metric: 0 or 1, or between if ties are broken at random. */
  readonly metrics: Readonly<Record<Metric, readonly number[]>>;
}

/** Wrong responses, by measures of tokens. */
export function tokenHits(
  cases: readonly ScoredCase[],
  measures: readonly string[],
): Hits<(typeof HIT_KS)[number]>[] {
  return measures.flatMap((measure) => {
    const hits = cases.map((one) => one.measures.get(measure)?.hits);
    if (hits.some((hit) => !hit)) return [];
    const metrics = recordOf(HIT_KS, (_, i) => hits.map((hit) => Number(hit![i])));
    return [{ measure, aggregation: null, metrics }];
  });
}

const STEP_KS = ['top1', 'top2', 'top3'] as const;

/** Wrong responses, by whatever gives their steps a score. */
export function stepHits(
  cases: readonly ScoredCase[],
  measures: readonly string[],
): Hits<(typeof STEP_KS)[number]>[] {
  return measures.flatMap((measure) => {
    const aggregations = [...(cases[0]?.measures.get(measure)?.steps.keys() ?? [])];
    return aggregations.map((aggregation) => ({
      measure,
      aggregation,
      metrics: recordOf(STEP_KS, (_, i) =>
        cases.map((one) => {
          const scores = one.measures.get(measure)?.steps.get(aggregation);
          if (!scores) throw new RangeError(`${one.id} has no step scores of ${measure}`);
          return chanceAmongTop(scores, one.firstWrong!, i + 1);
        }),
      ),
    }));
  });
}

export const tokenTable = (
  cases: readonly ScoredCase[],
  measures: readonly string[],
  scopes: Scopes,
): Evaluation['tokens'] =>
  scoped(cases, scopes, (mine) => [
    ...tokenHits(mine, measures).map((hits) => hitRow(hits, mine.length)),
    knownRow(FIRST, mine, HIT_KS, (one, i) => one.first![i]!),
    knownRow(CHANCE, mine, HIT_KS, (one, i) => one.chance![i]!),
  ]);

export const stepTable = (
  cases: readonly ScoredCase[],
  measures: readonly string[],
  scopes: Scopes,
): Evaluation['steps'] =>
  scoped(cases, scopes, (mine) => [
    ...stepHits(mine, measures).map((hits) => hitRow(hits, mine.length)),
    knownRow(CHANCE, mine, STEP_KS, (one, i) => Math.min(1, (i + 1) / one.steps)),
  ]);

/** Intervals are Wilson's; the paper's are 1.96 √(p (1 − p) / n), which fails for few cases and near 0 and 1. */
const hitRow = <M extends string>({ measure, aggregation, metrics }: Hits<M>, n: number): Row<'n', M> => ({
  measure,
  aggregation: aggregation ?? 'own',
  counts: { n },
  estimates: mapValues(metrics, (hits) => wilson(sum([...hits]), n)),
});

/** Known exactly, case by case. */
const knownRow = <M extends string>(
  measure: string,
  cases: readonly ScoredCase[],
  metrics: readonly M[],
  of: (one: ScoredCase, i: number) => number,
): Row<'n', M> => ({
  measure,
  aggregation: 'own',
  counts: { n: cases.length },
  estimates: recordOf(metrics, (_, i) => ({ value: mean(cases.map((one) => of(one, i))), interval: null })),
});
