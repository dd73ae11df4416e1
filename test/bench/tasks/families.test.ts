import fc from 'fast-check';
import { mersenne } from 'pure-rand/generator/mersenne';
import { describe, expect, it } from 'vitest';
import { extractFacts } from '#bench/tasks/facts.js';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { TASKS, UNSEEN_TASKS } from '#bench/tasks/problem.js';
import { plainSolution, wordedSolution } from '#bench/tasks/solution.js';
import { verify } from '#bench/tasks/verify.js';
import { answerOf } from '../../support/answer-of.js';

const FAMILIES = [...TASKS, ...UNSEEN_TASKS];
const seeds = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const EQUATION = /(-?\d+) ([-+*/]) (\d+) = (-?\d+)$/;

const draw = (task: (typeof FAMILIES)[number], seed: number, hard: number) =>
  generateProblems({ seed, count: 10, hard, tasks: [task] });

describe('the families of the embedded model', () => {
  describe.each(FAMILIES)('%s', (task) => {
    it('has lines that are true, and one answer', () => {
      fc.assert(
        fc.property(seeds, fc.constantFrom(0, 1), (seed, hard) => {
          for (const problem of draw(task, seed, hard)) {
            expect(problem.question).not.toMatch(/undefined|NaN|\d\.\d/);
            for (const fact of problem.facts) {
              const [, left, operator, right, result] = EQUATION.exec(fact) ?? [];
              if (!operator) continue;
              const [a, b] = [Number(left), Number(right)];
              expect({ '+': a + b, '-': a - b, '*': a * b, '/': a / b }[operator], fact).toBe(Number(result));
            }
            const solved = answerOf(problem);
            if (solved !== null) expect(problem).toMatchObject({ answer: solved });
          }
        }),
        { numRuns: 25 },
      );
    });

    it('is right as written, in both styles, and wrong with any line left out or changed', () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          for (const problem of draw(task, seed, 0)) {
            for (const text of [plainSolution(problem), wordedSolution(problem, mersenne(seed))]) {
              expect(verify(problem, text)).toEqual({ right: true, span: null });
              const lines = text.split('\n');
              const last = lines.length - 1;
              const start = lines.slice(0, last - 1).join('\n').length + (last > 1 ? 1 : 0);
              const changed = lines.with(last - 1, `${lines[last - 1]!.slice(0, -1)}0.`).join('\n');
              expect(verify(problem, changed).span?.[0]).toBe(start);
              expect(verify(problem, lines.toSpliced(0, 1).join('\n')).span).not.toBeNull();
              expect(verify(problem, lines.slice(0, last).join('\n')).right).toBe(false);
            }
          }
        }),
        { numRuns: 10 },
      );
    });
  });

  it.each([
    ['units', 'How many minutes are 3 hours and 25 minutes?', ['3 * 60 = 180', '180 + 25 = 205'], '205'],
    ['percent', 'What is 15% of 80?', ['80 * 15 = 1200', '1200 / 100 = 12'], '12'],
    ['ages', 'Ada is 9 years old. Ben is twice as old as Ada. How old is Ben?', ['Ben: 9 * 2 = 18'], '18'],
  ] as const)('judges an answer to a question of one’s own: %s', (task, question, facts, answer) => {
    const problem = { task, question, facts, answer };
    expect(verify(problem, plainSolution(problem))).toEqual({ right: true, span: null });
    expect(verify(problem, `Then, ${facts[0]}.\nAnswer: ${answer}.`).span === null).toBe(facts.length === 1);
  });
});

describe('solutions', () => {
  const problem = { facts: ['2 + 3 = 5', '5 * 4 = 20'], answer: '20' };

  it('have one wording, or words that are drawn', () => {
    expect(plainSolution(problem)).toBe('2 + 3 = 5.\n5 * 4 = 20.\nAnswer: 20.');
    const worded = Array.from({ length: 50 }, (_, seed) => wordedSolution(problem, mersenne(seed)));
    expect(new Set(worded).size).toBeGreaterThan(20);
  });

  it('state the same in both styles', () => {
    for (const line of ['After that, 5 * 4 = 20.', '5 * 4 = 20.\n'])
      expect(extractFacts(line).facts).toMatchObject([{ text: '5 * 4 = 20' }]);
    expect(extractFacts('So the answer is 20.').answer).toBe('20');
    expect(extractFacts('Now, Ada, Ben.\n\nAnswer: Ada.')).toMatchObject({
      facts: [{ text: 'Ada, Ben', span: [0, 14] }],
      answer: 'Ada',
    });
  });
});
