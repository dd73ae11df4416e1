import { MATH_SUBSETS } from './math.js';
import { createSuites, DEFAULT_SUITE_SETTINGS } from './suites.js';

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
  const math = { ...DEFAULT_SUITE_SETTINGS.math, drawings: true };
  const suite = createSuites({ ...DEFAULT_SUITE_SETTINGS, math })[name];
  const subsets = name === 'math' ? [...MATH_SUBSETS, 'geometry'] : null;
  const all = await suite.load({ folder, subsets, seed: 0, count: 0 });
  const byQuestion = new Map(all.map((problem) => [problem.question, problem]));
  return (question, response) => {
    const problem = byQuestion.get(question);
    return problem ? (suite.check(problem, response)?.correct ?? null) : null;
  };
}
