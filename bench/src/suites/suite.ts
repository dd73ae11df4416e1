import type { ChatMessage } from 'flinch';
import type { AnswerKind } from 'flinch/internals';
import { z } from 'zod';
import type { Span } from '../steps/first-wrong-step.js';
import { CHECKS } from './own/checks.js';

/** Its responses were written by others and came with labels: how many are right says nothing of the model. */
export const comesLabelled = (suite: string): boolean => suite === 'processbench';

/** Suites that have a name; `own` is a file of questions. */
export const NAMED_SUITES = [
  'math',
  'bbh',
  'gsm8k',
  'processbench',
  'factscore',
  'tasks',
  'questions',
] as const;
export const SUITES = [...NAMED_SUITES, 'own'] as const;
export type SuiteName = (typeof SUITES)[number];

const texts = z.array(z.string()).readonly();

/** A labelled response of some other model, as ProcessBench has them. */
const givenSchema = z.object({
  generator: z.string(),
  /** Joined by blank lines they are the response. */
  steps: texts,
  firstWrong: z.int().min(0).nullable(),
  finalAnswerCorrect: z.boolean(),
  /** It came as one text, and is cut into steps like any other. */
  whole: z.literal(true).exactOptional(),
});
export type GivenResponse = z.output<typeof givenSchema>;

/** What else a row of one's own questions has. */
const rowSchema = z.object({
  /** Right answers, any of which will do, as the check reads them; none where `right` is known. */
  answers: texts,
  choices: texts.nullable(),
  /** How this row is checked, if not as the others. */
  check: z.enum(CHECKS).exactOptional(),
  /** A text to be read before the question. */
  context: z.string().nullable(),
  /** The conversation that ends with the question. */
  messages: z
    .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
    .readonly()
    .nullable(),
  /** Label of a given response; `null` where the answer is checked. */
  right: z.union([z.boolean(), z.literal('unsure')]).nullable(),
});
export type OwnRow = z.output<typeof rowSchema>;

/** A question of a suite, so that a run's folder tells all without the suite's data. */
export const problemSchema = z.object({
  /** Unique within the suite. */
  id: z.string(),
  subset: z.string(),
  question: z.string(),
  /** The right answer as the suite writes it; `null` where there is none, as for a biography. */
  reference: z.string().nullable(),
  /** A response that comes with the problem instead of being generated, in its own steps. */
  given: givenSchema.nullable(),
  /** Statements of the right steps, in order, if a program checks them. */
  facts: texts.exactOptional(),
  row: rowSchema.exactOptional(),
});
export type BenchProblem = Readonly<z.output<typeof problemSchema>>;

/** Result of the check of a response's final answer. */
export interface Checked {
  /** The answer that was found; `null` where there is none, which is never right. */
  readonly extracted: string | null;
  /** `null`: unsure. */
  readonly correct: boolean | null;
  /** What the key is, if the answer was read by it. */
  readonly kind?: AnswerKind;
  /** Source, if it is not that of the suite's other labels. */
  readonly by?: 'rules' | 'program' | 'labels';
}

/** A family of problems: where they come from, how they are asked, and what can be told without a judge. */
export interface Suite {
  readonly name: SuiteName;
  /**
   * Unit that is right or wrong in a response: its final answer, and its steps; or each of its claims, judged
   * by a judge or a file. The id of a problem is then the topic of the claims.
   */
  readonly judged: 'answer' | 'claims';
  /** Source of the first wrong step, or of the wrong claims. */
  readonly labelledBy: 'judge' | 'labels' | 'program';
  /** All problems, in the order of the files. */
  load(source: SuiteSource): Promise<readonly BenchProblem[]>;
  /** Messages to the model, without a system message. */
  messages(problem: BenchProblem): readonly ChatMessage[];
  /** How a model without a chat template is asked; suites without it need one. */
  readonly completion?: Completion;
  /** Extraction and equivalence by rules, or by a program; `null` where only a judge can tell. */
  check(problem: BenchProblem, response: string): Checked | null;
  /** A program of the user's that tells what no rule does. */
  checkBy?(problem: BenchProblem, response: string, signal: AbortSignal): Promise<Checked>;
  /** The first wrong step of a response that is wrong, where a program or a label knows it; `null` where a judge is needed. */
  locate(problem: BenchProblem, response: string): Span | null;
}

/** A text to go on with. */
export interface Completion {
  /** Worked examples, then the question. */
  prompt(problem: BenchProblem): string;
  /** Strings that end a response. */
  readonly stop: readonly string[];
}

export interface SuiteSource {
  /** The folder with the suite's files; `null` for suites that make their problems. */
  readonly folder: string | null;
  readonly subsets: readonly string[] | null;
  /** For suites that generate or shuffle their problems: the seed, and the number. */
  readonly seed: number;
  readonly count: number;
}
