import { z } from 'zod';
import { firstWrongStep } from '#bench/steps/first-wrong-step.js';
import type { Problem } from '#bench/tasks/problem.js';
import { verify } from '#bench/tasks/verify.js';
import type { Engine } from '#src/engine/engine.js';
import { samplingDefaults } from '#src/engine/sampler.js';
import { TokenSteps } from '#src/steps/token-steps.js';
import { PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { answer } from '../schedules/answers.js';
import type { HiddenStates } from './hidden-states.js';
import { READINGS } from './measures.js';

const index = z.int().min(0);

/** An answer with the scores of its tokens, and what is wrong in it. */
export const scoredAnswerSchema = z.object({
  task: z.string(),
  /** The final answer is. */
  right: z.boolean(),
  /** Tokens `from` to `to − 1` of each. */
  steps: z.array(z.object({ from: index, to: index })),
  firstWrong: index.nullable(),
  /** The token that the first wrong words begin in. */
  wrongToken: index.nullable(),
  /** Scores of every token, by measure. */
  scores: z.record(z.string(), z.array(z.number())),
  /** Means of each step: {@link HiddenStates.means}. */
  hidden: z.array(z.array(z.number())),
});
export type ScoredAnswer = z.output<typeof scoredAnswerSchema>;

/**
 * Answers a problem, and scores the answer as a guard would while it is written.
 * @throws EngineError
 */
export async function scoredAnswer(
  engine: Engine,
  hiddenStates: HiddenStates,
  problem: Problem,
  sampled: { readonly temperature: number; readonly seed: number },
): Promise<ScoredAnswer> {
  const sampling = { ...samplingDefaults(engine.checkpoint.generation), ...sampled };
  const { promptIds, ids, texts, written } = await answer(engine, problem.question, sampling);
  const segmenter = new TokenSteps();
  const steps = [...texts.flatMap((text) => segmenter.push(text)), ...segmenter.end()];
  const starts = [0];
  for (const text of texts) starts.push(starts.at(-1)! + text.length);
  const { right, span } = verify(problem, texts.join(''));
  const scores: Record<string, number[]> = {};
  for (const { measures, scoring } of READINGS) {
    const { tokens } = await scoreResponse(engine, promptIds, ids, scoring);
    for (const [name, method] of Object.entries(measures))
      scores[name] = tokens.map((token) => token.scores[method]!);
  }
  if (engine.precision === 'int8') {
    for (const name of PROBABILITY_METHODS) scores[`${name} in int8`] = written.map((token) => token[name]);
  }
  return {
    task: problem.task,
    right,
    steps: steps.map(({ from, to }) => ({ from, to })),
    firstWrong: firstWrongStep(
      span,
      steps.map(({ from, to }) => [starts[from]!, starts[to]!]),
    ),
    wrongToken:
      span &&
      Math.max(
        0,
        starts.findLastIndex((start, i) => i < texts.length && start <= span[0]),
      ),
    scores,
    hidden: await hiddenStates.means(promptIds, ids, steps),
  };
}
