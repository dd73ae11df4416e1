import type { Problem } from 'flinch/internals';
import { extractFacts } from 'flinch/internals';
import type { Observed } from './answer-task.js';
import type { Outcome } from './comparison.js';
import type { Sample } from './run.js';

/** A further answer to every problem. */
export type Sampling = readonly Sample[];

/** A vote among the unguarded answer and further ones. */
export function selfConsistency(
  problems: readonly Problem[],
  unguarded: readonly Observed[],
  samples: readonly Sampling[],
): Outcome {
  const right = problems.map((problem, i) => {
    const first = extractFacts(problem.task, unguarded[i]!.text).answer;
    return mostCommon([first, ...samples.map((answers) => answers[i]!.answer)]) === problem.answer;
  });
  const tokens = total([...unguarded, ...samples.flat()].map((answer) => answer.tokens));
  return {
    name: `self-consistency, ${samples.length + 1} answers`,
    right,
    tokens,
    kept: 0,
    replaced: 0,
  };
}

/**
 * Self-consistency with one answer more for as many of the problems, in their order, as makes the tokens those of the
 * main arm; `null` where all samples together took fewer.
 */
export function sameBudget(main: Outcome, none: Outcome, consistent: readonly Outcome[]): Outcome | null {
  const steps = [none, ...consistent];
  const above = steps.findIndex(({ tokens }) => tokens >= main.tokens);
  const [low, high] = [steps[above - 1], steps[above]];
  if (!low || !high) return null;
  const share = (main.tokens - low.tokens) / (high.tokens - low.tokens);
  const cut = Math.round(share * none.right.length);
  return {
    name: 'budget of the main arm, self-consistency',
    right: none.right.map((_, i) => (i < cut ? high.right[i]! : low.right[i]!)),
    tokens: Math.round(low.tokens + share * (high.tokens - low.tokens)),
    kept: 0,
    replaced: 0,
  };
}

/**
 * The answer that most samples give (self-consistency, arXiv 2203.11171); of several the one that came first. A sample
 * without an answer has no vote.
 */
export function mostCommon(answers: readonly (string | null)[]): string | null {
  const votes = new Map<string, number>();
  for (const answer of answers) if (answer !== null) votes.set(answer, (votes.get(answer) ?? 0) + 1);
  let best: string | null = null;
  for (const [answer, count] of votes) if (best === null || count > votes.get(best)!) best = answer;
  return best;
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
