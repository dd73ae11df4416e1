import type { Evaluation } from '../records/evaluation.js';
import type { CheckRecord, LocatedRecord } from '../records/records.js';
import { wilson } from '../statistics/wilson.js';
import type { ResponseStep } from '../steps/response-steps.js';
import { written } from './measure-table.js';

/** A problem that was asked, as far as the run has come with it. */
export interface Counted {
  readonly subset: string;
  readonly text: string;
  readonly truncated: boolean;
  /** It came with the problem. */
  readonly given: boolean;
  /** The tokenizer did not give it back. */
  readonly rejected: boolean;
  readonly check: CheckRecord | null;
  /** Result for a wrong response whose first wrong step was looked for. */
  readonly located: LocatedRecord | null;
  readonly steps: readonly ResponseStep[];
}

/** Counts of all problems and, where there are several subsets, of each. @param subsets in the problems' order */
export const inScopes = <P extends { readonly subset: string }, C extends object>(
  problems: readonly P[],
  subsets: readonly string[],
  countsOf: (mine: readonly P[]) => C,
): ({ scope: string } & C)[] =>
  ['all', ...(subsets.length > 1 ? subsets : [])].map((scope) => ({
    scope,
    ...countsOf(problems.filter(({ subset }) => scope === 'all' || scope === subset)),
  }));

/** How often each name is there. */
export function countEach(names: readonly (string | null | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) if (name) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

export const countTable = (problems: readonly Counted[], subsets: readonly string[]): Evaluation['counts'] =>
  inScopes(problems, subsets, countsOf);

function countsOf(problems: readonly Counted[]): Omit<Evaluation['counts'][number], 'scope'> {
  const checks = problems.flatMap(({ check }) => check ?? []);
  const unsure = checks.filter((check) => check.correct === null).length;
  const correct = checks.filter((check) => check.correct).length;
  const located = problems.filter((one) => one.located?.span);
  return {
    problems: problems.length,
    truncated: problems.filter(({ truncated }) => truncated).length,
    correct,
    wrong: checks.length - correct - unsure,
    unsure,
    kinds: countEach(checks.map(({ kind }) => kind)),
    given: problems.filter(({ given }) => given).length,
    labelledBy: countEach(checks.map(({ by }) => by)),
    located: located.length,
    rejected: countEach(problems.map((one) => (one.rejected ? 'not_encoded' : one.located?.rejected))),
    spanning: located.filter(isSpanning).length,
    accuracy: written(wilson(correct, checks.length - unsure)),
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
