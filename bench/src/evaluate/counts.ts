import type { Evaluation } from '../records/evaluation.js';
import type { CheckRecord, LocatedRecord } from '../records/records.js';
import { wilson } from '../statistics/wilson.js';
import type { ResponseStep } from '../steps/response-steps.js';
import { written } from './table.js';

/** A problem that was asked, as far as the run has come with it. */
export interface Counted {
  readonly subset: string;
  readonly text: string;
  readonly truncated: boolean;
  /** The tokenizer did not give it back. */
  readonly rejected: boolean;
  readonly check: CheckRecord | null;
  /** Result for a wrong response whose first wrong step was looked for. */
  readonly located: LocatedRecord | null;
  readonly steps: readonly ResponseStep[];
}

/** @param subsets in the problems' order */
export function countTable(problems: readonly Counted[], subsets: readonly string[]): Evaluation['counts'] {
  const scopes = ['all', ...(subsets.length > 1 ? subsets : [])];
  return scopes.map((scope) =>
    countsOf(
      scope,
      problems.filter(({ subset }) => scope === 'all' || scope === subset),
    ),
  );
}

function countsOf(scope: string, problems: readonly Counted[]): Evaluation['counts'][number] {
  const checks = problems.flatMap(({ check }) => check ?? []);
  const correct = checks.filter((check) => check.correct).length;
  const located = problems.filter((one) => one.located?.span);
  const rejected: Record<string, number> = {};
  for (const one of problems) {
    const why = one.rejected ? 'not_encoded' : one.located?.rejected;
    if (why) rejected[why] = (rejected[why] ?? 0) + 1;
  }
  return {
    scope,
    problems: problems.length,
    truncated: problems.filter(({ truncated }) => truncated).length,
    correct,
    wrong: checks.length - correct,
    located: located.length,
    rejected,
    spanning: located.filter(isSpanning).length,
    accuracy: written(wilson(correct, checks.length)),
  };
}

/** Whether the first wrong step, as it was found, lies in several of the response's. */
function isSpanning({ text, located, steps }: Counted): boolean {
  const [start, end] = located?.span ?? [0, 0];
  const covered = steps.filter(({ span: [from, to] }) =>
    /\S/.test(text.slice(Math.max(start, from), Math.min(end, to))),
  );
  return covered.length > 1;
}
