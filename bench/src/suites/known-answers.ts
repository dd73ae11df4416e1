import { gsm8kSuite } from './gsm8k.js';
import { loadMath, MATH_SUBSETS, mathSuite } from './math.js';

/** Subsets of ProcessBench whose problems come from suites with answers. */
export const ANSWERED_SUBSETS = ['gsm8k', 'math'] as const;
export type AnsweredSubset = (typeof ANSWERED_SUBSETS)[number];

/** Whether a response to a question has the known answer, by the rules of the suite; `null` if none is known. */
export type KnownAnswers = (question: string, response: string) => boolean | null;

/**
 * The answers to problems of ProcessBench, which has none: those of the suite that they were taken from, found by the
 * text of the problem.
 * @param folder of that suite
 */
export async function knownAnswers(name: AnsweredSubset, folder: string | null): Promise<KnownAnswers> {
  const source = { folder, subsets: null, seed: 0, count: 0 };
  const all =
    name === 'math'
      ? await loadMath({ ...source, subsets: [...MATH_SUBSETS, 'geometry'] }, true)
      : await gsm8kSuite.load(source);
  const suite = name === 'math' ? mathSuite : gsm8kSuite;
  const byQuestion = new Map(all.map((problem) => [problem.question, problem]));
  return (question, response) => {
    const problem = byQuestion.get(question);
    return problem ? (suite.check(problem, response)?.correct ?? null) : null;
  };
}
