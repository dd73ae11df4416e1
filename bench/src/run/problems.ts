import { UsageError } from 'flinch/internals';
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

/**
 * Problems whose responses were written by these models.
 * @throws UsageError where responses are not given, or a model wrote none
 */
export function byGenerators(
  problems: readonly BenchProblem[],
  generators: readonly string[] | undefined,
): readonly BenchProblem[] {
  if (generators === undefined) return problems;
  const known = [...new Set(problems.flatMap(({ given }) => given?.generator ?? []))].sort();
  if (known.length === 0)
    throw new UsageError('--generators: is only for processbench, whose responses are given');
  const unknown = generators.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `--generators: no response was written by ${JSON.stringify(unknown)}; known: ${known.join(', ')}`,
    );
  return problems.filter(({ given }) => given && generators.includes(given.generator));
}

/**
 * Every question so many times: all of them once, then all of them again. Only as many are asked as their subset needs.
 * Each time is a problem of its own, with its own id and so its own seed.
 */
export const repeated = (problems: readonly BenchProblem[], times: number): readonly BenchProblem[] =>
  Array.from({ length: times }, (_, i) =>
    i === 0 ? problems : problems.map((problem) => ({ ...problem, id: `${problem.id}#${i + 1}` })),
  ).flat();
