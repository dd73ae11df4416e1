import { type Outcome, tokensOf } from './comparison.js';
import type { Sample } from './run.js';

/** An answer to every problem. */
export type Sampling = readonly Sample[];

/** Ways without a guard at one temperature, in the order of their tokens: one answer, then votes among more and more. */
export interface Ladder {
  readonly temperature: number;
  readonly rungs: readonly Outcome[];
}

export function ladder(temperature: number, samplings: readonly Sampling[]): Ladder {
  const rungs = samplings.map((_, i) => {
    // Answers by problem.
    const votes = samplings[i]!.map((_, k) => samplings.slice(0, i + 1).map((sampling) => sampling[k]!));
    return {
      name: i === 0 ? unguarded(temperature) : `${unguarded(temperature)}, vote of ${i + 1}`,
      right: votes.map((samples) => {
        const elected = mostCommon(samples.map(({ answer }) => answer));
        return samples.find(({ answer }) => answer === elected)!.right;
      }),
      tokens: votes.map((samples) => samples.reduce((sum, { tokens }) => sum + tokens, 0)),
      kept: 0,
      replaced: 0,
    };
  });
  return { temperature, rungs };
}

const unguarded = (temperature: number): string =>
  `no guard, ${temperature === 0 ? 'greedy' : `T = ${temperature}`}`;

/**
 * The way without a guard that takes as many tokens as a guarded one: the next lower rung, with one answer more for as
 * many of the problems, in their order, as makes the tokens the same. Where the guarded way took more than the highest
 * rung, or less than the lowest, it is that rung.
 */
export function sameBudget(guarded: Outcome, { temperature, rungs }: Ladder): Outcome {
  const budget = tokensOf(guarded);
  const above = rungs.findIndex((rung) => tokensOf(rung) >= budget);
  const high = rungs.at(above)!; // -1, the last, where there is none
  const low = rungs[above - 1];
  if (!low) return high;
  const cut = Math.round(
    ((budget - tokensOf(low)) / (tokensOf(high) - tokensOf(low))) * guarded.right.length,
  );
  const mixed = <T>(of: (rung: Outcome) => readonly T[]): T[] => [
    ...of(high).slice(0, cut),
    ...of(low).slice(cut),
  ];
  return {
    name: `${unguarded(temperature)}, as many tokens`,
    right: mixed(({ right }) => right),
    tokens: mixed(({ tokens }) => tokens),
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
