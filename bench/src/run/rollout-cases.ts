import { UsageError } from 'flinch/internals';
import { defaultDataFolder, suiteFolder } from '../data/folder.js';
import type { RolloutCase } from '../rollouts/label-by-rollouts.js';
import { GIVEN_SEPARATOR } from '../steps/response-steps.js';
import { ANSWERED_SUBSETS, knownAnswers } from '../suites/known-answers.js';
import { responseText } from '../suites/processbench.js';
import { type LabelledOptions, type LabelledProblem, labelledProblems } from './labelled-problems.js';

/** A response that people and rollouts label. */
export interface LabelledRolloutCase extends RolloutCase {
  readonly problem: LabelledProblem;
}

export interface RolloutCases {
  readonly cases: readonly LabelledRolloutCase[];
  /** Responses with a mistake whose final answer is right: rollouts have nothing to tell. */
  readonly rightAnswers: number;
  /** Responses to problems that the suite does not have. */
  readonly unknownAnswers: number;
}

/** The responses of ProcessBench with a mistake, and a wrong final answer by the rules of the suite. */
export async function rolloutCases(
  options: LabelledOptions & { readonly maxTokens: number },
): Promise<RolloutCases> {
  const { data = defaultDataFolder(), subsets = ANSWERED_SUBSETS, maxTokens } = options;
  const cases: LabelledRolloutCase[] = [];
  let [rightAnswers, unknownAnswers] = [0, 0];
  for (const subset of subsets) {
    const suite = ANSWERED_SUBSETS.find((known) => known === subset);
    if (!suite)
      throw new UsageError(
        `--subsets: the answers are known of ${ANSWERED_SUBSETS.join(', ')}, not of ${JSON.stringify(subset)}`,
      );
    const isRight = await knownAnswers(suite, suiteFolder(data, suite));
    for (const problem of await labelledProblems({ ...options, subsets: [subset] })) {
      const { question, given } = problem;
      const right = isRight(question, responseText(given));
      if (right === null) unknownAnswers += 1;
      else if (right) rightAnswers += 1;
      else
        cases.push({
          problem,
          beginnings: given.steps.map((_, i) => ({
            text: given.steps
              .slice(0, i)
              .map((step) => step + GIVEN_SEPARATOR)
              .join(''),
            maxTokens,
          })),
          isRight: (response) => isRight(question, response) ?? false,
        });
    }
  }
  return { cases, rightAnswers, unknownAnswers };
}
