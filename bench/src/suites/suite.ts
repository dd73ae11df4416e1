import type { ChatMessage } from 'flinch';
import type { Span } from 'flinch/internals';

/** Its responses were written by others and came with labels: how many are right says nothing of the model. */
export const comesLabelled = (suite: string): boolean => suite === 'processbench';

export const SUITES = ['math', 'bbh', 'gsm8k', 'processbench', 'factscore', 'tasks', 'questions'] as const;
export type SuiteName = (typeof SUITES)[number];

/** A question of a suite. */
export interface BenchProblem {
  /** Unique within the suite. */
  readonly id: string;
  readonly subset: string;
  readonly question: string;
  /** The right answer as the suite writes it; `null` where there is none, as for a biography. */
  readonly reference: string | null;
  /** A response that comes with the problem instead of being generated, in its own steps. */
  readonly given: GivenResponse | null;
  /** What the right steps state, in order, where a program checks them. */
  readonly facts?: readonly string[];
}

/** A labelled response of some other model, as ProcessBench has them. */
export interface GivenResponse {
  readonly generator: string;
  /** Joined by blank lines they are the response. */
  readonly steps: readonly string[];
  readonly firstWrong: number | null;
  readonly finalAnswerCorrect: boolean;
}

/** What a response's final answer is worth. */
export interface Checked {
  /** The answer that was found; `null` where there is none, which is never right. */
  readonly extracted: string | null;
  readonly correct: boolean;
}

/** A family of problems: where they come from, how they are asked, and what can be told without a judge. */
export interface Suite {
  readonly name: SuiteName;
  /**
   * What is right or wrong of a response: its final answer, and its steps; or each of its claims, which a judge or a
   * file tells. The id of a problem is then what the claims are about.
   */
  readonly judged: 'answer' | 'claims';
  /** Who tells the first wrong step, or which claims are wrong. */
  readonly toldBy: 'judge' | 'labels' | 'program';
  /** In the order of the files, all of them. */
  load(source: SuiteSource): Promise<readonly BenchProblem[]>;
  /** What the model is asked, without a system message. */
  messages(problem: BenchProblem): readonly ChatMessage[];
  /** How a model without a chat template is asked; suites without it need one. */
  readonly completion?: Completion;
  /** Extraction and equivalence by rules, or by a program; `null` where only a judge can tell. */
  check(problem: BenchProblem, response: string): Checked | null;
  /** The first wrong step of a response that is wrong, where a program or a label knows it; `null` where a judge is needed. */
  locate(problem: BenchProblem, response: string): Span | null;
}

/** A text to go on with. */
export interface Completion {
  /** Worked examples, then the question. */
  prompt(problem: BenchProblem): string;
  /** What ends a response. */
  readonly stop: readonly string[];
}

export interface SuiteSource {
  /** The folder with the suite's files; `null` for suites that make their problems. */
  readonly folder: string | null;
  readonly subsets: readonly string[] | null;
  /** For suites that make their problems: from which seed, and how many. */
  readonly seed: number;
  readonly count: number;
}
