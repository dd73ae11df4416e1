import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { type Problem, TASKS, type Task } from '#bench/tasks/problem.js';
import { answerOf } from '../../support/answer-of.js';
import { REASONER } from '../../support/golden.js';

/** Those that come with the embedded model. */
const shipped: Problem[] = readFileSync(join(REASONER, 'problems.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const generated = generateProblems({ seed: 1, count: 6000 });

const of = (problems: readonly Problem[], task: Task) => problems.filter((problem) => problem.task === task);
const numbers = (problems: readonly Problem[]): number[] =>
  problems.flatMap(({ question }) => (question.match(/\d+/g) ?? []).map(Number));

describe('problems.jsonl', () => {
  it('has problems of every family, with answers that follow from the questions', () => {
    expect(shipped).toHaveLength(1000);
    expect(new Set(shipped.map(({ task }) => task))).toEqual(new Set(TASKS));
    for (const problem of shipped) {
      const solved = answerOf(problem);
      if (solved !== null) expect(problem).toMatchObject({ answer: solved });
    }
  });
});

describe('generateProblems', () => {
  it('gives each problem a seed of its own', () => {
    expect(generateProblems({ seed: 4, count: 3 })).toEqual(generated.slice(3, 6));
    expect(new Set(generated.map(({ question }) => question)).size).toBeGreaterThan(0.9 * generated.length);
  });

  it('draws families by their weights, or those asked for', () => {
    const weights = new Map<Task, number>([
      ['one_step', 4],
      ['expression', 2],
      ['story', 2],
    ]);
    for (const task of TASKS) {
      const share = of(generated, task).length / generated.length;
      expect(Math.abs(share - (weights.get(task) ?? 1) / 26), task).toBeLessThan(0.02);
    }
    const two = generateProblems({ seed: 1, count: 300, tasks: ['expression', 'walk'] });
    expect(new Set(two.map(({ task }) => task))).toEqual(new Set(['expression', 'walk']));
    expect(of(two, 'expression').length / 300).toBeCloseTo(2 / 3, 1);
    expect(() => generateProblems({ seed: 1, count: 1, tasks: [] })).toThrow('tasks: needs at least one');
  });

  it.each([
    { hard: 0, largest: 99 },
    { hard: 1, largest: 999 },
  ])('draws larger numbers where problems are hard: $hard', ({ hard, largest }) => {
    const lists = generateProblems({ seed: 1, count: 5000, hard, tasks: ['sorting'] });
    expect(Math.max(...numbers(lists))).toBe(largest);
  });
});
