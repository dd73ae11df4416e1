import type { BenchProblem, Suite } from '#bench/suites/suite.js';
import { answerScore, type RiskModel, type Statistic, stepScore } from '#src/risk/risk.js';
import { type Method, PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { checked, type Observed } from '../correct/answer-task.js';

/** An answer with its verdict's risk, and what one could go by instead. */
export interface JudgedAnswer {
  readonly subset: string;
  /** The final answer is. */
  readonly right: boolean;
  /** Every step is, and the final answer. */
  readonly allRight: boolean;
  readonly steps: number;
  /** Score of the verdict, and its risk: a rank, which is the same for all scores above the calibration's. */
  readonly score: number;
  readonly risk: number;
  /** Scores by name. */
  readonly measures: Readonly<Record<string, number>>;
}

export const METHODS_BESIDE = [...PROBABILITY_METHODS, 'adversarial'] as const satisfies readonly Method[];

/**
 * @param risks with a calibration of answers by the method
 * @throws RangeError without one
 */
export function judged(
  suite: Suite,
  problem: BenchProblem,
  { text, tokens, steps, scores }: Pick<Observed, 'text' | 'tokens' | 'steps' | 'scores'>,
  risks: RiskModel,
  { method, statistic }: { readonly method: Method; readonly statistic: Statistic },
): JudgedAnswer {
  const of = (method: Method, from = 0, to = scores.length): number[] =>
    scores.slice(from, to).flatMap(({ [method]: score }) => (score === undefined ? [] : [score]));
  const scoreBy = (method: Method): number =>
    answerScore(steps.map(({ from, to }) => stepScore(statistic, of(method, from, to))));
  const score = scoreBy(method);
  const risk = risks.ofAnswer(method, statistic, score);
  if (risk === null) throw new RangeError(`${method}: the calibration has no answers`);
  return {
    subset: problem.subset,
    right: checked(suite, problem, text).correct,
    allRight: suite.locate(problem, text) === null,
    steps: steps.length,
    score,
    risk,
    measures: {
      ...Object.fromEntries(METHODS_BESIDE.flatMap((method) => summaries(method, of(method)))),
      // The same statistics of other scores: what the method itself is worth.
      ...Object.fromEntries(
        METHODS_BESIDE.filter((other) => other !== method).map((other) => [
          `verdict by ${other}`,
          scoreBy(other),
        ]),
      ),
      length: tokens,
    },
  };
}

function summaries(method: Method, scores: readonly number[]): [string, number][] {
  const sum = scores.reduce((a, b) => a + b, 0);
  return [
    [`max ${method}`, scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)],
    [`mean ${method}`, sum / scores.length],
    [`sum ${method}`, sum],
  ];
}
