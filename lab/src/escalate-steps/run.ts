import { join } from 'node:path';
import { z } from 'zod';
import { each } from '#bench/concurrent-map.js';
import { Ledger } from '#bench/result-log.js';
import { DEFAULT_SYSTEM, messagesOf } from '#bench/run/prompt.js';
import type { BenchProblem, Suite } from '#bench/suites/suite.js';
import { checked } from '../correct/answer-task.js';
import { uniformOf } from '../correct/arms.js';
import { flagging, type Question, type TwoModels, type Written } from './two-models.js';

/**
 * Ways to answer. `steps`: the large model writes the steps that the small one was least sure of; `random`: as large a share
 * of all steps; `rest`: it writes all from the first such step on.
 */
export const WAYS = ['small', 'large', 'steps', 'random', 'rest'] as const;
export type Way = (typeof WAYS)[number];

const resultSchema = z.object({
  id: z.string(),
  way: z.enum(WAYS),
  right: z.boolean(),
  /** Tokens that each model wrote, those that were taken back included. */
  small: z.int(),
  large: z.int(),
  /** Steps that the large model wrote. */
  escalated: z.int(),
  text: z.string(),
  steps: z.array(z.object({ at: z.int(), from: z.int(), to: z.int(), score: z.number() })).readonly(),
});
export type Result = z.output<typeof resultSchema>;

export interface RunOptions {
  readonly models: TwoModels;
  readonly suite: Suite;
  readonly problems: readonly BenchProblem[];
  /** How many of them, the first, only give the threshold, by answers of the small model alone. */
  readonly tuning: number;
  readonly share: number;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly folder: string;
}

export interface Run {
  readonly threshold: number;
  /** Of each problem that was answered in all ways. */
  readonly cases: readonly Readonly<Record<Way, Result>>[];
}

export async function run(options: RunOptions): Promise<Run> {
  const { models, tuning, problems, share, folder, concurrency } = options;
  const file = join(folder, 'answers.jsonl');
  const ledger = await Ledger.open(file, resultSchema, ({ id, way }) => `${way} ${id}`);
  const ask = async (problem: BenchProblem, way: Way, write: () => Promise<Written>): Promise<Result> => {
    const known = ledger.get(`${way} ${problem.id}`);
    return known ?? ledger.add(resultOf(options, problem, way, await write()));
  };
  const tuned = await each(
    'threshold',
    problems.slice(0, tuning),
    (problem, i) => ask(problem, 'small', () => models.small(questionOf(options, problem, i))),
    { concurrency },
  );
  const scores = tuned.flatMap(({ steps }) => steps.map(({ score }) => score)).sort((a, b) => b - a);
  const threshold = scores[Math.max(0, Math.round(share * scores.length) - 1)] ?? Number.POSITIVE_INFINITY;
  const isDoubtful = (score: number): boolean => score >= threshold;

  // One way after the other, so that a server still knows the question.
  const answer = async (problem: BenchProblem, i: number): Promise<Readonly<Record<Way, Result>>> => {
    const question = questionOf(options, problem, tuning + i);
    const isDrawn = (score: number): boolean => uniformOf(question.seed, score) < share;
    const small = await ask(problem, 'small', () => models.small(question));
    const steps = await ask(problem, 'steps', () => models.withSteps(question, flagging(isDoubtful)));
    const random = await ask(problem, 'random', () => models.withSteps(question, flagging(isDrawn)));
    const rest = await ask(problem, 'rest', () => handOver(models, question, small, isDoubtful));
    const large = await ask(problem, 'large', () => models.large(question));
    return { small, large, steps, random, rest };
  };
  const cases = await each('answers', problems.slice(tuning), answer, { concurrency });
  return { threshold, cases };
}

/** The small model's answer up to its first doubtful step, and the rest by the large one. */
async function handOver(
  models: TwoModels,
  question: Question,
  { text, small: tokens, steps }: Result,
  isDoubtful: (score: number) => boolean,
): Promise<Written> {
  const step = steps.find(({ score }) => isDoubtful(score));
  if (!step) return { text, steps, written: { small: tokens, large: 0 }, escalated: 0 };
  const rest = await models.large(question, text.slice(0, step.at), step.from);
  return { ...rest, written: { small: step.to, large: rest.written.large }, escalated: 1 };
}

const resultOf = (
  { suite }: RunOptions,
  problem: BenchProblem,
  way: Way,
  { written, ...answer }: Written,
): Result => ({
  ...{ id: problem.id, way, right: checked(suite, problem, answer.text).correct },
  ...written,
  ...answer,
});

const questionOf = (
  { suite, temperature, maxTokens, seed }: RunOptions,
  problem: BenchProblem,
  i: number,
): Question => ({
  messages: messagesOf(suite, problem, DEFAULT_SYSTEM),
  maxTokens,
  temperature,
  seed: seed + i,
});
