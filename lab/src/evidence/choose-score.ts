import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import type { AnswerSet } from './answer-set.js';
import { CHANGES, type Change, GUARD_CHANGES, stepScores, stepsOf } from './step-scores.js';

/** A way to score steps: a measure and changes of its sum. */
export interface Way {
  readonly measure: string;
  readonly changes: readonly Change[];
}

export const nameOf = ({ measure, changes }: Way): string =>
  [measure, ...changes.map(({ name }) => name)].join(', ');

/** What a step is scored by if nothing is better. */
export const PLAIN: Way = { measure: 'entropy', changes: [] };

/** That of the guard, `stepScore`. */
export const GUARD: Way = { measure: 'entropy', changes: GUARD_CHANGES };

/** Differences of average precision below this decide nothing: the simpler way is taken. */
const NEAR = 0.005;

/** Kinds of changes that are joined with content. */
const JOINED = ['first', 'rank', 'place'] as const;

/** The ways of a measure: its sum, of each kind the best setting, and those joined; and the one that the rule takes. */
export interface Choice {
  readonly ways: readonly Way[];
  readonly chosen: Way;
}

/** The rule of docs/design/evaluation.md, section 14, but for its last sentence, which needs intervals. */
export function choose(sets: readonly AnswerSet[], measures: readonly string[]): Choice {
  const known = new Map<string, number>();
  const precision = (way: Way): number => {
    const name = nameOf(way);
    const value = known.get(name) ?? meanPrecision(sets, way);
    known.set(name, value);
    return value;
  };
  const best = <T>(some: readonly T[], wayOf: (one: T) => Way): T =>
    some.reduce((a, b) => (precision(wayOf(b)) > precision(wayOf(a)) ? b : a));
  const ways = measures.flatMap((measure) => {
    const bestOf = (kind: keyof typeof CHANGES): Change =>
      best(CHANGES[kind], (change) => ({ measure, changes: [change] }));
    const kinds = Object.keys(CHANGES) as (keyof typeof CHANGES)[];
    const content = bestOf('content');
    const joined = JOINED.map((kind) => [content, bestOf(kind)]);
    const all = [[], ...kinds.map((kind) => [bestOf(kind)]), ...joined];
    const shorter = joined.flatMap((pair) => CHANGES.length.map((change) => [...pair, change]));
    return [...all, ...shorter].map((changes): Way => ({ measure, changes }));
  });
  const highest = precision(best(ways, (way) => way));
  const [chosen] = ways
    .filter((way) => precision(way) >= highest - NEAR)
    .toSorted((a, b) => a.changes.length - b.changes.length || sizeOf(a) - sizeOf(b));
  return { ways, chosen: chosen! };
}

const sizeOf = ({ changes }: Way): number => changes.reduce((sum, { size }) => sum + size, 0);

/** Average precision for first wrong steps, in the mean over the sets. */
function meanPrecision(sets: readonly AnswerSet[], { measure, changes }: Way): number {
  const each = sets.map((set) => {
    const wrong = stepsOf(set).map((step) => step.wrong);
    return areas(rank(stepScores(set, measure, changes), wrong)).averagePrecision;
  });
  return each.reduce((a, b) => a + b, 0) / each.length;
}
