import { z } from 'zod';
import { table } from '../markdown-table.js';
import { type Estimate, formatEstimate } from '../statistics/estimate.js';
import { wilson } from '../statistics/wilson.js';

/** Result of the judge for a response whose first wrong step people have labelled. */
export const comparedSchema = z.object({
  id: z.string(),
  subset: z.string(),
  /** Steps, counted from 0. */
  label: z.int().min(0),
  /** `null` where it named none that could be found. */
  judged: z.int().min(0).nullable(),
  rejected: z.enum(['none_named', 'no_match', 'unreadable']).exactOptional(),
});
export type Compared = z.output<typeof comparedSchema>;

export interface AgreementRow {
  readonly scope: string;
  readonly n: number;
  readonly agrees: Estimate;
  /** Numbers of disagreements: steps before the label, after it, or none. */
  readonly earlier: number;
  readonly later: number;
  readonly none: number;
}

/** Agreement of the paper's judge with people, on responses of its own. */
export const AGREEMENT_OF_PAPER = 0.91;

/** Agreement over all, and for each subset; a step that was not found does not agree. */
export function labelAgreement(compared: readonly Compared[]): AgreementRow[] {
  const subsets = [...new Set(compared.map(({ subset }) => subset))];
  return ['all', ...(subsets.length > 1 ? subsets : [])].map((scope) => {
    const mine = compared.filter(({ subset }) => scope === 'all' || subset === scope);
    const count = (test: (label: number, judged: number | null) => boolean): number =>
      mine.filter(({ label, judged }) => test(label, judged)).length;
    return {
      ...{ scope, n: mine.length },
      agrees: wilson(
        count((label, judged) => judged === label),
        mine.length,
      ),
      earlier: count((label, judged) => judged !== null && judged < label),
      later: count((label, judged) => judged !== null && judged > label),
      none: count((_, judged) => judged === null),
    };
  });
}

/** Table in text form; ends without a newline. */
export function formatAgreement(rows: readonly AgreementRow[]): string {
  const cells = rows.map(({ scope, n, agrees, earlier, later, none }) => [
    scope,
    String(n),
    formatEstimate(agrees),
    ...[earlier, later, none].map(String),
  ]);
  const header = ['Responses', 'n', 'same step', 'earlier', 'later', 'none found'];
  return `${table(header, cells)}\n\nThe paper reports ${100 * AGREEMENT_OF_PAPER} % agreement of its judge (GPT-5.2) with people, on responses of its own.`;
}
