import { suiteFolder } from '#bench/data/folder.js';
import { seedOf } from '#bench/run/seeds.js';
import { gsm8kSuite } from '#bench/suites/gsm8k.js';
import { processbenchSuite } from '#bench/suites/processbench.js';
import type { GivenResponse } from '#bench/suites/suite.js';
import type { ChatMessage } from '#src/tokenizer/chat-template.js';
import { equationsIn } from './equations.js';

/** A problem as a model is asked it. */
export interface PretrainedProblem {
  readonly id: string;
  readonly question: string;
  readonly messages: readonly ChatMessage[];
  /** Prompt for a model without a chat template: examples, then the question. */
  readonly completion: string;
  readonly given: GivenResponse | null;
}

export interface PretrainedTask {
  readonly maxTokens: number;
  /** Ends a completion. */
  readonly stop: readonly string[];
  load(dataFolder: string): Promise<PretrainedProblem[]>;
  /** Whether each step is wrong; `null` if it does not count. */
  label(problem: PretrainedProblem, steps: readonly string[]): (boolean | null)[];
}

/** No longer question or solution is taken, in characters: scoring is slow on a CPU. */
export const LONGEST_QUESTION = 160;
export const LONGEST_SOLUTION = 1100;

const source = (data: string, suite: 'gsm8k' | 'processbench', subsets: string[] | null) => ({
  folder: suiteFolder(data, suite),
  subsets,
  seed: 1,
  count: 1,
});

const EQUATIONS = `Question: Tom has 3 boxes with 4 pens each. He gives away 5 pens. How many pens are left?
Answer: Tom has 3 * 4 = 12 pens in the boxes.
After giving away 5 pens he has 12 - 5 = 7 pens.
The answer is 7.

Question: A shirt costs $20 and a hat costs half as much. How much do 2 shirts and 3 hats cost?
Answer: A hat costs 20 / 2 = 10 dollars.
2 shirts cost 2 * 20 = 40 dollars.
3 hats cost 3 * 10 = 30 dollars.
Together they cost 40 + 30 = 70 dollars.
The answer is 70.

`;

/** GSM8K, written by the model: a step that states a false equation is wrong, one with true equations alone is right. */
const equations: PretrainedTask = {
  maxTokens: 120,
  stop: ['\n\n', 'Question:'],
  async load(data) {
    const problems = await gsm8kSuite.load(source(data, 'gsm8k', null));
    return problems
      .filter(({ question }) => question.length <= LONGEST_QUESTION)
      .map(({ id, question }) => ({
        id,
        question,
        given: null,
        messages: [
          {
            role: 'user',
            // The prompt has no example: a small model copies it.
            content: `${question}\n\nSolve this step by step, and write each calculation as an equation.`,
          },
        ],
        completion: `${EQUATIONS}Question: ${question}\nAnswer:`,
      }));
  },
  label: (_, steps) =>
    steps.map((step) => {
      const found = equationsIn(step);
      return found.length === 0 ? null : found.some(({ holds }) => !holds);
    }),
};

/** ProcessBench, read: steps before the first wrong one are right, those after it do not count. */
const read = (subset: 'gsm8k' | 'math'): PretrainedTask => ({
  maxTokens: 0,
  stop: [],
  async load(data) {
    const problems = await processbenchSuite.load(source(data, 'processbench', [subset]));
    // The file has the wrong solutions first: without an order of its own a part of it would be no sample.
    return problems
      .toSorted((a, b) => seedOf(1, a.id) - seedOf(1, b.id))
      .filter(({ question, given }) => question.length + given!.steps.join('').length <= LONGEST_SOLUTION)
      .map((problem) => ({
        id: problem.id,
        question: problem.question,
        given: problem.given,
        messages: processbenchSuite.messages(problem),
        completion: '',
      }));
  },
  label({ given }, steps) {
    const first = given?.firstWrong ?? null;
    return steps.map((_, i) => (first !== null && i > first ? null : i === first));
  },
});

export const TASKS = {
  equations,
  'read-gsm8k': read('gsm8k'),
  'read-math': read('math'),
} as const satisfies Readonly<Record<string, PretrainedTask>>;
export type TaskName = keyof typeof TASKS;
export const TASK_NAMES = Object.keys(TASKS) as TaskName[];
