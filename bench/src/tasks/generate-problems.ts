import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { chance, choice } from './draw.js';
import { counting, sets, sorting, strings } from './families/lists.js';
import { clock, dates, units } from './families/measures.js';
import { average, equation, expression, sequence, sharing } from './families/number-problems.js';
import { oneStep } from './families/one-step.js';
import { ages, heights, ordering, tracking, truth } from './families/people.js';
import { change, percent, story, table } from './families/shopping.js';
import { distance, walk } from './families/walks.js';
import type { Draft } from './families/working.js';
import { type Problem, TASKS, type Task } from './problem.js';

type Generate = (random: RandomGenerator, hard: boolean) => Draft;

interface Family {
  readonly generate: Generate;
  /** How often it is drawn, relative to the others. */
  readonly weight: number;
}

const FAMILIES: Readonly<Record<Task, Family>> = {
  one_step: { generate: oneStep, weight: 4 },
  expression: { generate: expression, weight: 2 },
  story: { generate: story, weight: 2 },
  table: { generate: table, weight: 1 },
  percent: { generate: percent, weight: 1 },
  equation: { generate: equation, weight: 1 },
  sequence: { generate: sequence, weight: 1 },
  sharing: { generate: sharing, weight: 1 },
  average: { generate: average, weight: 1 },
  units: { generate: units, weight: 1 },
  clock: { generate: clock, weight: 1 },
  dates: { generate: dates, weight: 1 },
  sorting: { generate: sorting, weight: 1 },
  sets: { generate: sets, weight: 1 },
  counting: { generate: counting, weight: 1 },
  strings: { generate: strings, weight: 1 },
  heights: { generate: heights, weight: 1 },
  ordering: { generate: ordering, weight: 1 },
  truth: { generate: truth, weight: 1 },
  tracking: { generate: tracking, weight: 1 },
  walk: { generate: walk, weight: 1 },
  change: { generate: change, weight: 1 },
  ages: { generate: ages, weight: 1 },
  distance: { generate: distance, weight: 1 },
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
  const tickets = tasks.flatMap((task) => Array.from({ length: FAMILIES[task].weight }, () => task));
  return Array.from({ length: count }, (_, i) => {
    const random = mersenne(seed + i);
    const task = choice(random, tickets);
    return { task, ...FAMILIES[task].generate(random, chance(random, hard)) };
  });
}
