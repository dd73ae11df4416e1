import { expect, it } from 'vitest';
import type { Evaluation } from '#bench/records/evaluation.js';
import { differenceTable, hitTable } from '#lab/evidence/hit-tables.js';

const known = (value: number) => ({ value, interval: null });
const none = { value: null, interval: null };
const token = (scope: string, measure: string, value: number) => ({
  ...{ scope, measure, n: 4, top3: known(value), top5: known(value), top1pct: known(value) },
  ...{ top1pctFloor: none, top1pctRound: none, innerTop3: none, innerTop5: none, innerTop1pct: none },
});
const step = (measure: string, aggregation: 'sum' | 'max' | 'own', value: number) => ({
  ...{ scope: 'all', measure, aggregation, n: 4, top1: known(value), top2: none, top3: none },
});
type Paired = Evaluation['paired'][number];
const paired = (
  level: 'token' | 'step',
  metric: string,
  b: string,
  aggregation: Paired['aggregation'],
  difference: number,
): Paired => ({
  ...{ level, metric, a: 'adversarial', b, aggregation, n: 4, difference: known(difference) },
  ...{ test: 'mcnemar', p: 0.25, adjusted: 0.5, tests: 2 },
});

const evaluation = {
  tokens: [
    token('all', 'adversarial', 0.75),
    token('gsm8k', 'adversarial', 0.1),
    token('all', 'chance', 0.5),
  ],
  steps: [step('adversarial', 'sum', 0.6), step('adversarial', 'max', 0.2), step('longest', 'own', 0.3)],
  paired: [
    paired('token', 'top3', 'nll', null, 0.125),
    paired('token', 'innerTop3', 'nll', null, 0.9),
    paired('step', 'top1', 'nll', 'max', 0.9),
    paired('step', 'top1', 'nll', 'sum', -0.25),
    paired('step', 'top1', 'longest', 'own', 0.3),
  ],
} as unknown as Evaluation;

const cells = (text: string): string[][] =>
  text
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

it('shows what measures hit among all answers, steps by sums', () => {
  expect(cells(hitTable(evaluation))).toEqual([
    ['Adv. Pert.', '0.750', '0.750', '0.750', '0.600'],
    ['chance', '0.500', '0.500', '0.500', ''],
    ['longest first', '', '', '', '0.300'],
  ]);
});

it('shows how the first measure differs from the others', () => {
  const text = differenceTable(evaluation);
  expect(text).toMatch(/^\| Adv\. Pert\. less/);
  expect(cells(text)).toEqual([
    ['NLL', '0.125, p = 0.250', '', '', '-0.250, p = 0.250'],
    ['longest first', '', '', '', '0.300, p = 0.250'],
  ]);
});
