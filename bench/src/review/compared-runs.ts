import { type ComparedRow, compareRuns } from '../evaluate/compare-runs.js';
import type { Run } from '../report/runs.js';
import type { Comparison } from '../report/sections/compared-section.js';
import { casesOfRun } from '../run/evaluate-run.js';
import { peekRecords, readRun } from '../run/run-folder.js';

/** Each run beside the first, where they have questions in common. */
export async function comparisonsOf([first, ...others]: readonly Run[]): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const second of others) {
    const rows = await compareFolders(first!.folder, second.folder);
    if (rows[0]!.n > 0) comparisons.push({ first: first!, second, rows });
  }
  return comparisons;
}

async function compareFolders(first: string, second: string): Promise<ComparedRow[]> {
  const [a, b] = [await readAnswers(first), await readAnswers(second)];
  const isSame = (id: string): boolean => a.questions.get(id) === b.questions.get(id);
  const common = ({ right, cases }: typeof a) => ({
    right: new Map([...right].filter(([id]) => isSame(id))),
    cases: cases.filter(({ id }) => isSame(id)),
  });
  return compareRuns(common(a), common(b), a.bootstrap);
}

async function readAnswers(folder: string) {
  const { problems, settings } = await readRun(folder);
  const { checks } = await peekRecords(folder);
  const right = problems.flatMap(({ id }) => {
    const correct = checks.get(id)?.correct ?? null;
    return correct === null ? [] : [[id, correct] as const];
  });
  return {
    bootstrap: settings.bootstrap,
    questions: new Map(problems.map(({ id, question }) => [id, question])),
    right: new Map(right),
    // The ratio of the classes is only correct if all responses are scored.
    cases: settings.score === 'all' ? await casesOfRun(folder) : [],
  };
}
