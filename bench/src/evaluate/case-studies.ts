import type { Evaluation } from '../records/evaluation.js';
import type { ScoreRecord } from '../records/records.js';
import type { BenchProblem } from '../suites/suite.js';
import type { Known } from './case.js';

type CaseStudy = Evaluation['cases'][number];

/** Cases that are shown of each subset: the first in the order of the problems, not selected by hand. */
const WRONG = 2;
const RIGHT = 1;
/** Right ones, and wrong ones, that are shown of a run with few subsets. */
const AT_LEAST = 3;

/**
 * Ids of the responses that are shown.
 * @param wrong ids of the responses that are known to be wrong, with what is wrong in them
 */
export function studied(
  problems: readonly BenchProblem[],
  wrong: ReadonlySet<string>,
  isRight: (id: string) => boolean,
): Set<string> {
  const seen = new Map<string, number>();
  const chosen = problems.filter(({ id, subset }) => {
    if (!wrong.has(id) && !isRight(id)) return false;
    const [kind, kindOfSubset] = [`${wrong.has(id)}`, `${wrong.has(id)} ${subset}`];
    const [before, beforeOfSubset] = [seen.get(kind) ?? 0, seen.get(kindOfSubset) ?? 0];
    if (before >= AT_LEAST && beforeOfSubset >= (wrong.has(id) ? WRONG : RIGHT)) return false;
    seen.set(kind, before + 1).set(kindOfSubset, beforeOfSubset + 1);
    return true;
  });
  return new Set(chosen.map(({ id }) => id));
}

export function caseStudy(
  { id, subset, question }: BenchProblem,
  { response, steps }: Pick<Known, 'response' | 'steps'>,
  { tokens }: ScoreRecord,
  labels: Pick<CaseStudy, 'verdict' | 'wrong'>,
): CaseStudy {
  return {
    id,
    subset,
    question,
    verdict: labels.verdict,
    tokenTexts: response.tokenTexts,
    wrong: labels.wrong,
    steps: steps.map(({ span: [start, end] }) => [start, end]),
    tokens,
  };
}
