import type { BenchProblem } from '../suites/suite.js';

/**
 * So many problems, evenly of all subsets: the first of each, then the second of each, and so on; in their
 * own order.
 */
export function limited<T extends BenchProblem>(problems: readonly T[], limit: number | null): readonly T[] {
  if (limit === null || limit >= problems.length) return problems;
  const place = new Map<T, number>();
  const seen = new Map<string, number>();
  for (const problem of problems) {
    const before = seen.get(problem.subset) ?? 0;
    place.set(problem, before);
    seen.set(problem.subset, before + 1);
  }
  const first = problems.toSorted((a, b) => place.get(a)! - place.get(b)!).slice(0, limit);
  const taken = new Set(first);
  return problems.filter((problem) => taken.has(problem));
}
