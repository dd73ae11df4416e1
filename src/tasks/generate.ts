import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { arithmetic } from './arithmetic.js';
import { chance, choice } from './draw.js';
import { navigate } from './navigate.js';
import { type Problem, TASKS, type Task } from './problem.js';
import { shuffledObjects } from './shuffled-objects.js';
import { webOfLies } from './web-of-lies.js';
import { wordProblem } from './word-problem.js';

type Generate = (random: RandomGenerator, hard: boolean) => Problem;

interface Family {
  readonly generate: Generate;
  /** How often it is drawn, relative to the others. */
  readonly weight: number;
}

const FAMILIES: Readonly<Record<Task, Family>> = {
  word_problem: { generate: wordProblem, weight: 4 },
  arithmetic: { generate: arithmetic, weight: 2 },
  shuffled_objects: { generate: shuffledObjects, weight: 2 },
  web_of_lies: { generate: webOfLies, weight: 1 },
  navigate: { generate: navigate, weight: 1 },
};

export interface GenerateOptions {
  /** A 32-bit integer. */
  readonly seed: number;
  readonly count: number;
  /** Share of problems with larger numbers, which stories and expressions can have; a quarter in problems.jsonl. */
  readonly hard?: number;
  /** Families to draw from, by their weights. */
  readonly tasks?: readonly Task[];
}

/**
 * Draws problems. Each follows from its own seed alone, the first from `seed` and each further one from the next: so
 * the first problems of a longer list are those of a shorter one, and ranges of seeds apart share none but by chance.
 * @throws RangeError without a family
 */
export function generateProblems({ seed, count, hard = 0.25, tasks = TASKS }: GenerateOptions): Problem[] {
  if (tasks.length === 0) throw new RangeError('tasks: needs at least one');
  const tickets = tasks.flatMap((task): Generate[] => {
    const { generate, weight } = FAMILIES[task];
    return Array.from({ length: weight }, () => generate);
  });
  return Array.from({ length: count }, (_, i) => {
    const random = mersenne(seed + i);
    return choice(random, tickets)(random, chance(random, hard));
  });
}
