import { z } from 'zod';
import { parseJsonLines } from '../files/json-lines.js';

/** Families that the embedded model is trained on (models/training/README.md). */
export const TASKS = [
  'one_step',
  'expression',
  'story',
  'table',
  'percent',
  'equation',
  'sequence',
  'sharing',
  'average',
  'units',
  'clock',
  'dates',
  'sorting',
  'sets',
  'counting',
  'strings',
  'heights',
  'ordering',
  'truth',
  'tracking',
  'walk',
] as const;

/** Families of the same kind that no model is trained on. */
export const UNSEEN_TASKS = ['change', 'ages', 'distance'] as const;

export const ALL_TASKS = [...TASKS, ...UNSEEN_TASKS] as const;

export type Task = (typeof ALL_TASKS)[number];

/** A question, and its one right way: what every step states, in order, and the answer. */
export interface Problem {
  readonly task: Task;
  readonly question: string;
  readonly facts: readonly string[];
  readonly answer: string;
}

export const problemSchema = z.object({
  task: z.enum(ALL_TASKS),
  question: z.string().min(1),
  facts: z.array(z.string().min(1)).min(1),
  answer: z.string().min(1),
}) satisfies z.ZodType<Problem>;

/**
 * Problems as JSON Lines; fields of other names are left out.
 * @throws UsageError that names the first line and field that do not fit
 */
export const parseProblems = (text: string): Problem[] => parseJsonLines(text, problemSchema);
