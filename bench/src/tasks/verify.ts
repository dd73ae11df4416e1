import type { Span } from '../steps/first-wrong-step.js';
import { extractFacts } from './facts.js';
import type { Problem } from './problem.js';

export interface Verdict {
  /** The answer is. */
  readonly right: boolean;
  /** The first wrong line; `null` where all is right. A right answer can follow a wrong line. */
  readonly span: Span | null;
}

/**
 * Checks a response step by step. The first wrong line is the one whose fact is not the next right one, or that states
 * one too many; where a fact is missing, or only the answer is wrong, it is the last line.
 */
export function verify(problem: Problem, response: string): Verdict {
  const { facts, answer, lastLine } = extractFacts(response);
  const right = answer === problem.answer;
  const wrong = facts.find(({ text }, i) => text !== problem.facts[i]);
  if (wrong) return { right, span: wrong.span };
  return { right, span: right && facts.length === problem.facts.length ? null : lastLine };
}
