import type { Evaluation } from '../run/evaluation.js';
import type { ScoreRecord } from '../run/records.js';
import type { BenchProblem } from '../suites/suite.js';
import type { Known } from './case.js';

/** Of each subset, the first in the problems' order: nobody has chosen them. */
const WRONG = 2;
const RIGHT = 1;

/**
 * Which responses are shown.
 * @param wrong with a first wrong step
 */
export function studied(
  problems: readonly BenchProblem[],
  wrong: ReadonlySet<string>,
  isRight: (id: string) => boolean,
): Set<string> {
  const seen = new Map<string, number>();
  const chosen = problems.filter(({ id, subset }) => {
    if (!wrong.has(id) && !isRight(id)) return false;
    const kind = `${wrong.has(id)} ${subset}`;
    const before = seen.get(kind) ?? 0;
    seen.set(kind, before + 1);
    return before < (wrong.has(id) ? WRONG : RIGHT);
  });
  return new Set(chosen.map(({ id }) => id));
}

export function caseStudy(
  { id, subset, question, reference }: BenchProblem,
  { response, check, located, steps }: Known,
  { tokens }: ScoreRecord,
): Evaluation['cases'][number] {
  return {
    id,
    subset,
    question,
    reference,
    extracted: check.extracted,
    correct: check.correct,
    tokenTexts: response.tokenTexts,
    span: located?.span ?? null,
    steps: steps.map(({ span: [start, end] }) => [start, end]),
    tokens,
  };
}
