import { z } from 'zod';
import { parseJsonLines } from '../files/json-lines.js';

/** The families of problems that a program can check step by step (models/reasoner/TASKS.md). */
export const TASKS = ['word_problem', 'arithmetic', 'shuffled_objects', 'web_of_lies', 'navigate'] as const;

export type Task = (typeof TASKS)[number];

/** A question, and its one right way: what every step states, in order, and the answer. */
export interface Problem {
  readonly task: Task;
  readonly question: string;
  readonly facts: readonly string[];
  readonly answer: string;
}

export const problemSchema = z.object({
  task: z.enum(TASKS),
  question: z.string().min(1),
  facts: z.array(z.string().min(1)).min(1),
  answer: z.string().min(1),
}) satisfies z.ZodType<Problem>;

/**
 * Problems as JSON Lines; fields of other names are left out.
 * @throws UsageError that names the first line and field that do not fit
 */
export const parseProblems = (text: string): Problem[] => parseJsonLines(text, problemSchema);
