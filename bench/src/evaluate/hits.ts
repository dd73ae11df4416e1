import { mean } from 'simple-statistics';
import type { Evaluation } from '../records/evaluation.js';
import type { Estimate } from '../statistics/estimate.js';
import { wilson } from '../statistics/wilson.js';
import { chanceAmongTop } from '../steps/step-rank.js';
import { type Aggregated, CHANCE, FIRST, type ScoredCase } from './case.js';
import { type Row, type Scopes, scoped, written } from './table.js';
import { HIT_KS } from './token-rankings.js';

/** Numbers for a paired test: one for each case, in their order. */
export interface Hits {
  readonly measure: string;
  readonly aggregation: Aggregated | null;
  /** Hits by metric: 0 or 1, or between if ties are broken at random. */
  readonly metrics: Readonly<Record<string, readonly number[]>>;
}

/** Wrong responses, by measures of tokens. */
export function tokenHits(cases: readonly ScoredCase[], measures: readonly string[]): Hits[] {
  return measures.flatMap((measure) => {
    const hits = cases.map((one) => one.measures.get(measure)?.hits);
    if (hits.some((hit) => !hit)) return [];
    return [
      {
        measure,
        aggregation: null,
        metrics: metricsOf(HIT_KS, (_, i) => hits.map((hit) => Number(hit![i]))),
      },
    ];
  });
}

/** Wrong responses, by whatever gives their steps a score. */
export function stepHits(cases: readonly ScoredCase[], measures: readonly string[]): Hits[] {
  return measures.flatMap((measure) => {
    const aggregations = [...(cases[0]?.measures.get(measure)?.steps.keys() ?? [])];
    return aggregations.map((aggregation) => ({
      measure,
      aggregation,
      metrics: metricsOf(STEP_KS, (_, i) =>
        cases.map((one) => {
          const scores = one.measures.get(measure)?.steps.get(aggregation);
          if (!scores) throw new RangeError(`${one.id} has no step scores of ${measure}`);
          return chanceAmongTop(scores, one.firstWrong!, i + 1);
        }),
      ),
    }));
  });
}

const STEP_KS = ['top1', 'top2', 'top3'] as const;

const metricsOf = (names: readonly string[], of: (name: string, i: number) => number[]) =>
  Object.fromEntries(names.map((name, i) => [name, of(name, i)]));

export function tokenTable(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  scopes: Scopes,
): Evaluation['tokens'] {
  const known = (mine: readonly ScoredCase[]): Row[] => [
    knownRow(FIRST, mine, HIT_KS, (one, i) => one.first![i]!),
    knownRow(CHANCE, mine, HIT_KS, (one, i) => one.chance![i]!),
  ];
  return scoped(cases, scopes, (mine) => [...tokenHits(mine, measures).map(hitRow), ...known(mine)]).map(
    ({ scope, measure, counts, estimates }) => {
      const [top3, top5, top1pct, top1pctFloor, top1pctRound, innerTop3, innerTop5, innerTop1pct] =
        estimates.map(written);
      return {
        scope,
        measure,
        n: counts[0]!,
        top3: top3!,
        top5: top5!,
        top1pct: top1pct!,
        top1pctFloor: top1pctFloor!,
        top1pctRound: top1pctRound!,
        innerTop3: innerTop3!,
        innerTop5: innerTop5!,
        innerTop1pct: innerTop1pct!,
      };
    },
  );
}

export function stepTable(
  cases: readonly ScoredCase[],
  measures: readonly string[],
  scopes: Scopes,
): Evaluation['steps'] {
  const chance = (mine: readonly ScoredCase[]): Row =>
    knownRow(CHANCE, mine, STEP_KS, (one, i) => Math.min(1, (i + 1) / one.steps));
  return scoped(cases, scopes, (mine) => [...stepHits(mine, measures).map(hitRow), chance(mine)]).map(
    ({ scope, measure, aggregation, counts, estimates }) => {
      const [top1, top2, top3] = estimates.map(written);
      return { scope, measure, aggregation, n: counts[0]!, top1: top1!, top2: top2!, top3: top3! };
    },
  );
}

/** Intervals are Wilson's; the paper's are 1.96 √(p (1 − p) / n), which fails for few cases and near 0 and 1. */
function hitRow({ measure, aggregation, metrics }: Hits): Row {
  const all = Object.values(metrics);
  return {
    measure,
    aggregation: aggregation ?? 'own',
    counts: [all[0]!.length],
    estimates: all.map((hits) => wilson(sum(hits), hits.length)),
  };
}

/** Known exactly, case by case. */
function knownRow(
  measure: string,
  cases: readonly ScoredCase[],
  ks: readonly string[],
  of: (one: ScoredCase, i: number) => number,
): Row {
  const estimates = ks.map(
    (_, i): Estimate => ({ value: mean(cases.map((one) => of(one, i))), interval: null }),
  );
  return { measure, aggregation: 'own', counts: [cases.length], estimates };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
