import type { BenchProblem, Suite } from '../suites/suite.js';
import type { CheckRecord, ClaimsRecord, LocatedRecord, ResponseRecord } from './records.js';
import type { RunSettings } from './run-settings.js';

/** Responses that are scored: wrong ones with a first wrong step, or all. */
export type WhichScored = RunSettings['score'];

export interface SelectionRule {
  readonly scored: WhichScored;
  /** The most wrong responses of each subset, the first ones; `null` for all. */
  readonly perSubset: number | null;
}

export const ruleOf = ({ score, perSubset }: Pick<RunSettings, 'score' | 'perSubset'>): SelectionRule => ({
  scored: score,
  perSubset,
});

/** Results so far, by problem. */
export interface Progressed {
  readonly responses: Pick<ReadonlyMap<string, ResponseRecord>, 'get'>;
  readonly checks: Pick<ReadonlyMap<string, CheckRecord>, 'get'>;
  readonly located: Pick<ReadonlyMap<string, LocatedRecord>, 'get'>;
}

export interface Selection {
  /** Wrong responses with a first wrong step: the cases of the tables of hits. */
  readonly wrong: ReadonlySet<string>;
  /** Wrong responses that had to be looked at to find so many. */
  readonly examined: ReadonlySet<string>;
  /** Wrong responses that must be looked at next: whatever comes out, all of these are needed. */
  readonly next: readonly BenchProblem[];
  readonly scored: ReadonlySet<string>;
}

/**
 * The problems that are asked: all, or with a limit of wrong responses the first ones of each subset, up to
 * the response that completes it. A result that is not known yet counts
 * as if it could complete the subset, so that a problem that is asked now is asked whatever the results are.
 */
export function asked(
  problems: readonly BenchProblem[],
  known: Progressed,
  { scored, perSubset }: SelectionRule,
): BenchProblem[] {
  if (perSubset === null) return [...problems];
  const found = new Map<string, number>();
  return problems.filter(({ id, subset }) => {
    const before = found.get(subset) ?? 0;
    if (before >= perSubset) return false;
    if (mayBeWrong(id, known, scored)) found.set(subset, before + 1);
    return true;
  });
}

/**
 * Whether a response is, or may turn out to be, a wrong one of the tables: not one that was cut off, nor one without a
 * first wrong step unless all are scored.
 */
function mayBeWrong(id: string, { responses, checks, located }: Progressed, scored: WhichScored): boolean {
  const [response, check, place] = [responses.get(id), checks.get(id), located.get(id)];
  if (response && isLeftOut(response)) return false;
  if (!check) return true;
  return check.correct === false && (scored === 'all' || !place || place.span !== null);
}

/**
 * Follows from the problems' order and what is known of each, not from the order in which that came to be known.
 */
export function select(problems: readonly BenchProblem[], known: Progressed, rule: SelectionRule): Selection {
  const { scored, perSubset } = rule;
  const wrong = new Set<string>();
  const examined = new Set<string>();
  const next: BenchProblem[] = [];
  const chosen = new Set<string>();
  const found = new Map<string, number>();
  for (const problem of scored === 'all' ? asked(problems, known, rule) : problems) {
    const { id, subset } = problem;
    const response = known.responses.get(id);
    const check = known.checks.get(id);
    if (!check || (response && isLeftOut(response))) continue;
    if (scored === 'all' && response?.tokenTexts.join('') !== '') chosen.add(id);
    // An unfinished answer has no first wrong step yet.
    if (check.correct !== false || (response && isTruncated(response))) continue;
    const before = found.get(subset) ?? 0;
    if (perSubset !== null && before >= perSubset) continue;
    const located = known.located.get(id);
    if (!located) next.push(problem);
    else examined.add(id);
    if (located && !located.span) continue;
    found.set(subset, before + 1);
    if (!located) continue;
    wrong.add(id);
    chosen.add(id);
  }
  return { wrong, examined, next, scored: chosen };
}

/** Known claims so far, by problem. */
export interface ClaimsKnown {
  readonly claims: Pick<ReadonlyMap<string, ClaimsRecord>, 'get'>;
}

/** Ids of responses with a claim that counts, for suites that are judged by claims. */
export function selectClaimed(problems: readonly BenchProblem[], { claims }: ClaimsKnown): Set<string> {
  return new Set(problems.map(({ id }) => id).filter((id) => claims.get(id)?.claims.some(isLabelled)));
}

/** Whether a claim counts: it is supported or not, and its words are in the response. */
export const isLabelled = ({ spans, supported }: ClaimsRecord['claims'][number]): boolean =>
  supported !== null && spans.length > 0;

/** The problems of a run that are asked: all where claims are judged, since only answers are limited. */
export const askedIn = (
  { judged }: Pick<Suite, 'judged'>,
  problems: readonly BenchProblem[],
  known: Progressed,
  rule: SelectionRule,
): BenchProblem[] => (judged === 'claims' ? [...problems] : asked(problems, known, rule));

/** The responses of a run that are scored. */
export const scoredIn = (
  { judged }: Pick<Suite, 'judged'>,
  problems: readonly BenchProblem[],
  known: Progressed & ClaimsKnown,
  rule: SelectionRule,
): ReadonlySet<string> =>
  judged === 'claims' ? selectClaimed(problems, known) : select(problems, known, rule).scored;

/** Whether it is in no table. */
export const isLeftOut = ({ finish, cutOffWrong }: ResponseRecord): boolean =>
  (finish === 'length' && !cutOffWrong) || finish === 'rejected';

export const isTruncated = ({ finish }: ResponseRecord): boolean => finish === 'length';
