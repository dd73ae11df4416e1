import type { StepAnswer, TokenRange } from './step-answer.js';

export interface PooledStep extends TokenRange {
  readonly answer: StepAnswer;
  /** It is the first wrong one of its answer. */
  readonly wrong: boolean;
}

/**
 * The steps of all answers up to the first wrong one. Those after it are left out: what follows from an error is neither
 * right nor wrong of itself.
 * @throws RangeError where the first wrong step is none of the steps, or a step has no token
 */
export function poolSteps(answers: readonly StepAnswer[]): PooledStep[] {
  return answers.flatMap((answer) => {
    const { steps, firstWrong } = answer;
    if (firstWrong !== null && !(firstWrong in steps))
      throw new RangeError(`step ${firstWrong} is wrong, but there are ${steps.length}`);
    const empty = steps.find(({ start, end }) => end <= start);
    if (empty) throw new RangeError(`a step of no token, at ${empty.start}`);
    return steps
      .slice(0, (firstWrong ?? steps.length) + 1)
      .map((range, i) => ({ ...range, answer, wrong: i === firstWrong }));
  });
}

/**
 * Scores of all tokens of a response.
 * @throws RangeError where there is not one for each token of its steps
 */
export function scoresOf({ scores, steps }: StepAnswer, name: string): readonly (number | null)[] {
  const found = scores.get(name);
  const tokens = steps.at(-1)?.end ?? 0;
  if (found?.length === tokens) return found;
  throw new RangeError(`${name}: ${found?.length ?? 'no'} scores of an answer of ${tokens} tokens`);
}
