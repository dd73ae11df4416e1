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
