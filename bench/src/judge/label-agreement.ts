import { mean } from 'simple-statistics';
import { z } from 'zod';
import { firstFalseEquation } from '../answers/false-equation.js';
import { table } from '../markdown-table.js';
import { locatedSchema } from '../records/records.js';
import { type Estimate, formatEstimate } from '../statistics/estimate.js';
import { wilson } from '../statistics/wilson.js';
import type { GivenResponse } from '../suites/suite.js';

/** Label that a judge or rollouts found for a response whose first wrong step people have labelled. */
export const comparedSchema = locatedSchema.pick({ rollouts: true, rejected: true }).extend({
  id: z.string(),
  subset: z.string(),
  /** Steps, counted from 0. */
  label: z.int().min(0),
  /** `null` where none was named that could be found, or none could be told. */
  judged: z.int().min(0).nullable(),
});
export type Compared = z.output<typeof comparedSchema>;

/** The response that was labelled, and both labels. */
export interface LabelledCase extends Compared {
  readonly steps: GivenResponse['steps'];
}

export interface AgreementRow {
  readonly scope: string;
  /** What labelled: a judge, rollouts, or a control. */
  readonly by: string;
  readonly n: number;
  readonly agrees: Estimate;
  /** The labelled step, or the one before or after it. */
  readonly near: Estimate;
  /** Numbers of disagreements: steps before the label, after it, or none; `null` for a control without labels. */
  readonly earlier: number | null;
  readonly later: number | null;
  readonly none: number | null;
}

/**
 * Agreement over all, and for each subset, beside that of a random step and of the first false equation. A step that was
 * not found does not agree.
 */
export function labelAgreement(by: string, cases: readonly LabelledCase[]): AgreementRow[] {
  const subsets = [...new Set(cases.map(({ subset }) => subset))];
  return ['all', ...(subsets.length > 1 ? subsets : [])].flatMap((scope) => {
    const mine = cases.filter(({ subset }) => scope === 'all' || subset === scope);
    return [
      rowOf(scope, by, mine),
      randomRow(scope, mine),
      rowOf(
        scope,
        'first false equation',
        mine.map((one) => ({ ...one, judged: firstFalseEquation(one.steps) })),
      ),
    ];
  });
}

function rowOf(scope: string, by: string, cases: readonly Compared[]): AgreementRow {
  const n = cases.length;
  const count = (test: (label: number, judged: number) => boolean): number =>
    cases.filter(({ label, judged }) => judged !== null && test(label, judged)).length;
  return {
    scope,
    by,
    n,
    agrees: wilson(
      count((label, judged) => judged === label),
      n,
    ),
    near: wilson(
      count((label, judged) => Math.abs(judged - label) <= 1),
      n,
    ),
    earlier: count((label, judged) => judged < label),
    later: count((label, judged) => judged > label),
    none: cases.filter(({ judged }) => judged === null).length,
  };
}

/** Expected agreement of a step that is drawn at random; it has no interval. */
function randomRow(scope: string, cases: readonly LabelledCase[]): AgreementRow {
  const expected = (distance: number): Estimate => ({
    value:
      cases.length === 0
        ? Number.NaN
        : mean(
            cases.map(
              ({ label, steps }) =>
                steps.filter((_, i) => Math.abs(i - label) <= distance).length / steps.length,
            ),
          ),
    interval: null,
  });
  return {
    scope,
    by: 'a random step',
    n: cases.length,
    agrees: expected(0),
    near: expected(1),
    earlier: null,
    later: null,
    none: null,
  };
}

/** Table in text form; ends without a newline. */
export function formatAgreement(rows: readonly AgreementRow[]): string {
  const cells = rows.map(({ scope, by, n, agrees, near, earlier, later, none }) => [
    scope,
    by,
    String(n),
    formatEstimate(agrees),
    formatEstimate(near),
    ...[earlier, later, none].map((count) => (count === null ? '–' : String(count))),
  ]);
  const header = [
    ...['Responses', 'first wrong step by', 'n', 'same step', 'within one step'],
    ...['earlier', 'later', 'none found'],
  ];
  return table(header, cells);
}
