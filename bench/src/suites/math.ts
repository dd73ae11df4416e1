import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lastBoxed, parseJsonLines } from 'flinch/internals';
import { z } from 'zod';
import { sameAnswer } from '../answers/equivalence.js';
import { extractMathAnswer } from '../answers/math-answer.js';
import { chosenSubsets, neededFolder, readJson, readRows, refuseRepeated } from './data-files.js';
import type { BenchProblem, Suite, SuiteSource } from './suite.js';
import { mathPrompt } from './suite-prompts.js';

/** Subsets of the paper. It leaves geometry out, whose problems need their drawings. */
export const MATH_SUBSETS = [
  'algebra',
  'counting_and_probability',
  'intermediate_algebra',
  'number_theory',
  'prealgebra',
  'precalculus',
] as const;
const ALL_SUBSETS = [...MATH_SUBSETS, 'geometry'] as const;
/** The 500 problems of PRM800K's test split, drawings and geometry included. */
const MATH_500 = 'math500';

/** Fields of the copies that are around: `type` or `subject`, with or without an id. */
const rowSchema = z
  .object({
    problem: z.string().min(1),
    solution: z.string().min(1),
    type: z.string().optional(),
    subject: z.string().optional(),
    unique_id: z.string().optional(),
  })
  .transform((row, context) => {
    const subset = subsetOf(row.type ?? row.subject ?? '');
    const reference = lastBoxed(row.solution);
    if (!subset) context.addIssue({ code: 'custom', path: ['type'], message: 'is not a MATH subject' });
    if (reference === null)
      context.addIssue({ code: 'custom', path: ['solution'], message: 'has no \\boxed answer' });
    return subset && reference !== null ? { ...row, subset, reference } : z.NEVER;
  });
type Row = z.output<typeof rowSchema>;

/** The rows of a copy of the test set. @throws UsageError that names line and field */
export const parseMathTest = (text: string): readonly Row[] => parseJsonLines(text, rowSchema);

/** "Counting & Probability" is counting_and_probability. */
const subsetOf = (subject: string) =>
  ALL_SUBSETS.find((name) => name === subject.toLowerCase().replace('&', 'and').replaceAll(' ', '_'));

/**
 * MATH: hendrycks/math, its test set, from `test.jsonl` or from `test_<subset>.jsonl`; the subset `math500` is MATH-500
 * (`math500.jsonl`, or the ids in `math500_unique_ids.json`).
 */
export const mathSuite: Suite = {
  name: 'math',
  judged: 'answer',
  labelledBy: 'judge',
  load: (source) => loadMath(source),
  messages: ({ question }) => [{ role: 'user', content: mathPrompt(question) }],
  check: ({ reference }, response) => {
    const extracted = extractMathAnswer(response);
    const correct = extracted !== null && reference !== null && sameAnswer(extracted, reference);
    return { extracted, correct };
  },
  locate: () => null,
};

/** @param drawings whether problems stay that hold the source of a drawing */
export async function loadMath(source: SuiteSource, drawings = false): Promise<BenchProblem[]> {
  const folder = neededFolder('math', source);
  const known = [...ALL_SUBSETS, MATH_500] as const;
  const wanted = source.subsets && chosenSubsets(known, source.subsets);
  const only500 = wanted?.includes(MATH_500) ?? false;
  const named = ALL_SUBSETS.filter((name) => wanted?.includes(name));
  const subsets = named.length > 0 ? named : only500 ? ALL_SUBSETS : MATH_SUBSETS;
  const rows = only500 ? await readMath500(folder) : await readTest(folder, subsets);
  refuseRepeated(rows);
  const kept = rows.filter(
    ({ row }) =>
      subsets.some((name) => name === row.subset) && (only500 || drawings || !row.problem.includes('[asy]')),
  );
  return kept.map(({ id, row }) => ({
    id,
    subset: row.subset,
    question: row.problem,
    reference: row.reference,
    given: null,
  }));
}

interface Numbered {
  readonly id: string;
  /** File and row. */
  readonly place: string;
  readonly row: Row;
}

async function readTest(folder: string, subsets: readonly string[]): Promise<Numbered[]> {
  if (existsSync(join(folder, 'test.jsonl'))) return readNumbered(folder, 'test.jsonl');
  const perSubset = subsets.map((subset) => `test_${subset}.jsonl`);
  const missing = perSubset.every((file) => !existsSync(join(folder, file)));
  const files = missing ? ['test.jsonl'] : perSubset;
  return (await Promise.all(files.map((file) => readNumbered(folder, file)))).flat();
}

async function readMath500(folder: string): Promise<Numbered[]> {
  const idsFile = 'math500_unique_ids.json';
  const byId = !existsSync(join(folder, 'math500.jsonl')) && existsSync(join(folder, idsFile));
  if (!byId) return readNumbered(folder, 'math500.jsonl');
  const { ids } = await readJson('math', folder, idsFile, z.object({ ids: z.array(z.string()) }));
  const all = new Map((await readTest(folder, ALL_SUBSETS)).map((numbered) => [numbered.id, numbered]));
  return ids.flatMap((id) => all.get(id) ?? []);
}

async function readNumbered(folder: string, file: string): Promise<Numbered[]> {
  const rows = await readRows('math', folder, file, rowSchema);
  return rows.map((row, i) => ({
    id: row.unique_id ?? `${file}:${i + 1}`,
    place: `${join(folder, file)}: row ${i + 1}`,
    row,
  }));
}
