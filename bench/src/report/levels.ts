import type { Evaluation, WrittenEstimate } from '../records/evaluation.js';
import { comesLabelled } from '../suites/suite.js';

/**
 * Unit of detection: a token or a step of the first wrong step, a wrong final answer, an unsupported
 * statement.
 */
export type Level = 'token' | 'step' | 'response' | 'claim';
export const LEVELS: readonly Level[] = ['token', 'step', 'response', 'claim'];

/** One measure on one scope: what a line of a table says. */
export interface MeasuredRow {
  readonly scope: string;
  readonly measure: string;
  /** How tokens became a step or a whole; `null` where there is nothing to put together. */
  readonly aggregation: string | null;
  /** Whether this is the measure's usual aggregation: its own, else the sum, as in the paper. */
  readonly main: boolean;
  /** Cases; `null` where the paper does not say. */
  readonly n: number | null;
  /** Estimates by metric, in the order of the columns. */
  readonly metrics: ReadonlyMap<string, WrittenEstimate>;
}

export const ALL = 'all';
export const MACRO = 'macro';
/** All cases alike, and all subsets alike. */
export const WHOLE: readonly string[] = [ALL, MACRO];
/** The mean over all subsets but one. */
export const isChoice = (scope: string): boolean => scope.startsWith('macro without ');

/**
 * How many subsets a mean over them is of; `null` for what is no mean.
 * @param rows of the table that have a value: a subset may have no case, or only cases of one class
 */
export function subsetsTold(
  scope: string,
  rows: readonly { readonly scope: string }[],
  { counts }: Pick<Evaluation, 'counts'>,
): string | null {
  if (scope !== MACRO) return null;
  const subsets = (all: readonly { readonly scope: string }[]): number =>
    new Set(all.map((row) => row.scope).filter((name) => !WHOLE.includes(name) && !isChoice(name))).size;
  const [there, all] = [subsets(rows), subsets(counts)];
  return there < all ? `${there} of ${all} subsets` : `${there} subsets`;
}

/** The rows of a level; the same shape for all of them. */
export function rowsOf(evaluation: Evaluation, level: Level): MeasuredRow[] {
  const all = plainRows(evaluation, level);
  const rows = isUndefined(all, level) ? [] : all;
  const own = new Set(
    rows
      .filter(({ aggregation }) => aggregation === 'own')
      .map(({ scope, measure }) => `${scope} ${measure}`),
  );
  return rows.map((row) => {
    const { scope, measure, aggregation } = row;
    const summed = aggregation === 'sum' && !own.has(`${scope} ${measure}`);
    return { ...row, main: aggregation === null || aggregation === 'own' || summed };
  });
}

/** Without a right case, or without a wrong one, no measure can be judged: a table would say nothing. */
const isUndefined = (rows: readonly PlainRow[], level: Level): boolean =>
  rows.every(({ scope, metrics }) => scope !== ALL || metrics.get(MAIN_METRIC[level])?.value == null);

type PlainRow = Omit<MeasuredRow, 'main'>;

const METRICS = {
  token: ['top3', 'top5', 'top1pct'],
  step: ['top1', 'top2', 'top3'],
  response: ['auroc', 'averagePrecision'],
  claim: ['auroc', 'averagePrecision'],
} as const;

function plainRows({ tokens, steps, responses, claims }: Evaluation, level: Level): PlainRow[] {
  switch (level) {
    case 'token':
      return tokens.map((row) => plainRow({ ...row, aggregation: null }, METRICS.token));
    case 'step':
      return steps.map((row) => plainRow(row, METRICS.step));
    case 'response':
      return responses.map((row) => plainRow(row, METRICS.response));
    case 'claim':
      return claims.map((row) => plainRow(row, METRICS.claim));
  }
}

const plainRow = <M extends string>(
  row: Omit<PlainRow, 'metrics'> & Readonly<Record<M, WrittenEstimate>>,
  metrics: readonly M[],
): PlainRow => ({
  scope: row.scope,
  measure: row.measure,
  aggregation: row.aggregation,
  n: row.n,
  metrics: new Map(metrics.map((metric) => [metric, row[metric]])),
});

/** The metric that a level is summed up by. */
export const MAIN_METRIC: Readonly<Record<Level, string>> = {
  token: 'top3',
  step: 'top1',
  response: 'auroc',
  claim: 'auroc',
};

const METRIC_LABELS: ReadonlyMap<string, string> = new Map([
  ['top1', 'Top 1'],
  ['top2', 'Top 2'],
  ['top3', 'Top 3'],
  ['top5', 'Top 5'],
  ['top1pct', 'Top 1 %'],
  ['top1pctFloor', 'Top 1 %, rounded down'],
  ['top1pctRound', 'Top 1 %, to the nearest'],
  ['innerTop3', 'Top 3, no first words'],
  ['innerTop5', 'Top 5, no first words'],
  ['innerTop1pct', 'Top 1 %, no first words'],
  ['auroc', 'AUROC'],
  ['averagePrecision', 'AP'],
]);

export const metricLabel = (metric: string): string => METRIC_LABELS.get(metric) ?? metric;

/** Names in the middle of a sentence. */
export const LEVEL_NAMES = {
  token: 'token level',
  step: 'sentence level',
  response: 'final answer',
  claim: 'statements',
  pooled: 'pooled steps',
} as const satisfies Readonly<Record<Level | 'pooled', string>>;

const LEVEL_LABELS: Readonly<Record<Level, string>> = {
  token: 'Token level: is one of the highest tokens in the first wrong step?',
  step: 'Sentence level: is the first wrong step among the highest?',
  response: 'Final answer: does the score tell wrong answers from right ones?',
  claim: 'Statements: does the score tell unsupported ones from supported ones?',
};

/**
 * Name of a level. A response with labels is judged by its steps; its final answer may be right all the same.
 */
export const levelName = (level: Level | 'pooled', suite: string): string =>
  level === 'response' && comesLabelled(suite) ? 'whole response' : LEVEL_NAMES[level];

export const levelLabel = (level: Level, suite: string): string =>
  level === 'response' && comesLabelled(suite)
    ? 'Whole response: does the score tell those with a wrong step from those without?'
    : LEVEL_LABELS[level];
