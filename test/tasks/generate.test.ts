import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { generateProblems } from '#src/tasks/generate.js';
import { FIRST_TASKS, type Problem, parseProblems, type Task } from '#src/tasks/problem.js';
import { verify } from '#src/tasks/verify.js';
import { REASONER } from '../support/golden.js';
import { solve } from '../support/solve-task.js';

/** Those that come with the first embedded model, by the reference generator. */
const reference = parseProblems(readFileSync(join(REASONER, 'problems.jsonl'), 'utf8'));
const first = (options: { seed: number; count: number; hard?: number }) =>
  generateProblems({ ...options, tasks: FIRST_TASKS });
const generated = first({ seed: 1, count: 6000 });

const of = (problems: readonly Problem[], task: Task) => problems.filter((problem) => problem.task === task);
const numbers = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);
const range = (values: readonly number[]) => [Math.min(...values), Math.max(...values)];
const words = (problems: readonly Problem[]): Set<string> =>
  new Set(problems.flatMap(({ question }) => question.match(/[A-Za-z]+/g) ?? []));

/** How often sentences of each form occur per problem: numbers, and words that are drawn, left out. */
function forms(problems: readonly Problem[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { question, task } of problems) {
    const plain = task === 'arithmetic' ? question.replace(/[-+*()\d ]{2,}\d/, ' 1') : question;
    const masked = plain
      .replace(/\d+/g, '1')
      .replace(/\b(Then|At|A|How|Find|Which|What|Does|Turn|Take|Walk|Go|You|Where)\b/g, (word) =>
        word.toLowerCase(),
      )
      .replace(/\b[A-Z][a-z]+(, [A-Z][a-z]+)*/g, 'Name')
      .replace(/\b(boxes|bags|crates|packs|jars)\b/g, 'boxes')
      .replace(
        /\b(apples|pens|coins|books|shells|cards|beads|marbles|stamps|cookies|stones|tickets)\b/g,
        'items',
      )
      .replace(/the \w+ ball/g, 'the red ball');
    for (const sentence of masked.split(/(?<=[.?]) /)) {
      counts.set(sentence, (counts.get(sentence) ?? 0) + 1 / problems.length);
    }
  }
  return counts;
}

describe('problems.jsonl', () => {
  it('is solved: every fact and answer follows from the question', () => {
    expect(reference).toHaveLength(1000);
    for (const problem of reference) expect({ ...problem, ...solve(problem) }).toEqual(problem);
  });
});

describe('generateProblems', () => {
  it('draws problems whose facts and answer follow from the question', () => {
    fc.assert(
      fc.property(fc.integer(), fc.double({ min: 0, max: 1, noNaN: true }), (seed, hard) => {
        for (const problem of first({ seed, count: 20, hard })) {
          expect({ ...problem, ...solve(problem) }).toEqual(problem);
        }
      }),
    );
  });

  it('draws problems that their own facts solve', () => {
    for (const problem of generated) {
      const lines = problem.facts.map((fact) =>
        fact.replace(/truth$/, 'tells the truth').replace(/lie$/, 'lies'),
      );
      const response = [...lines, `The answer is ${problem.answer}`].join('.\n');
      expect(verify(problem, `${response}.`)).toEqual({ right: true, span: null });
    }
  });

  it('gives each problem a seed of its own', () => {
    expect(first({ seed: 4, count: 3 })).toEqual(generated.slice(3, 6));
    expect(new Set(generated.map(({ question }) => question)).size).toBeGreaterThan(0.99 * generated.length);
  });

  it('draws families by their weights, or those asked for', () => {
    const shares = FIRST_TASKS.map((task) => of(generated, task).length / generated.length);
    for (const [i, weight] of [4, 2, 2, 1, 1].entries()) {
      expect(Math.abs(shares[i]! - weight / 10)).toBeLessThan(0.02);
    }
    const two = generateProblems({ seed: 1, count: 300, tasks: ['arithmetic', 'navigate'] });
    expect(new Set(two.map(({ task }) => task))).toEqual(new Set(['arithmetic', 'navigate']));
    expect(of(two, 'arithmetic').length / 300).toBeCloseTo(2 / 3, 1);
    expect(() => generateProblems({ seed: 1, count: 1, tasks: [] })).toThrow('tasks: needs at least one');
  });

  it('knows the words of problems.jsonl, and no others', () => {
    expect([...words(generated)].sort()).toEqual([...words(reference)].sort());
  });

  it.each(FIRST_TASKS)('words %s as often in each way as problems.jsonl does', (task) => {
    const [mine, theirs] = [forms(of(generated, task)), forms(of(reference, task))];
    expect([...mine.keys()].sort()).toEqual([...theirs.keys()].sort());
    // Four standard errors of the reference's count, which is about Poisson; ours has more problems.
    const error = (count: number): number => 4 * Math.sqrt(count / of(reference, task).length);
    for (const [form, count] of theirs) {
      expect(Math.abs(mine.get(form)! - count), form).toBeLessThan(error(count));
    }
  });

  it.each([
    { task: 'word_problem', facts: [2, 10] },
    { task: 'arithmetic', facts: [2, 5] },
    { task: 'shuffled_objects', facts: [3, 6] },
    { task: 'web_of_lies', facts: [3, 6] },
    { task: 'navigate', facts: [3, 6] },
  ] as const)('draws as many steps as the reference: $task', ({ task, facts }) => {
    expect(range(of(generated, task).map((problem) => problem.facts.length))).toEqual(facts);
  });

  it.each([
    { hard: 0, have: [5, 99], more: [3, 99], each: [3, 30], largest: 50 },
    { hard: 1, have: [5, 499], more: [3, 499], each: [3, 99], largest: 200 },
  ])('draws numbers from the ranges of the reference: hard $hard', ({ hard, have, more, each, largest }) => {
    const stories = of(
      generateProblems({ seed: 1, count: 20_000, hard, tasks: ['word_problem'] }),
      'word_problem',
    );
    const drawn = (pattern: RegExp): number[] =>
      stories.flatMap(({ question }) => [...question.matchAll(pattern)].map(([, number]) => Number(number)));
    expect(range(drawn(/^\D*(\d+)/g))).toEqual(have);
    expect(range(drawn(/(\d+) more/g))).toEqual(more);
    expect(range(drawn(/(?:of|arrive with) (\d+)/g))).toEqual(each);
    expect(range(drawn(/(\d+) (?:boxes|bags|crates|packs|jars)/g))).toEqual([2, 9]);

    const expressions = generateProblems({ seed: 1, count: 5000, hard, tasks: ['arithmetic'] });
    const parts = expressions.map(({ question }) => question.replaceAll(/\* \d+/g, ''));
    expect(range(parts.flatMap(numbers))).toEqual([1, largest]);
    const factors = expressions.flatMap(({ question }) => question.match(/\* \d+/g) ?? []);
    expect(range(factors.flatMap(numbers))).toEqual([2, 9]);
  });

  it('adds and subtracts twice as often as it multiplies, and seldom goes below nothing', () => {
    const facts = of(generated, 'arithmetic').flatMap((problem) => problem.facts);
    const share = (pattern: RegExp): number =>
      facts.filter((fact) => pattern.test(fact)).length / facts.length;
    expect(Math.abs(share(/\d \+ /) - 0.4)).toBeLessThan(0.03);
    expect(Math.abs(share(/\d - /) - 0.4)).toBeLessThan(0.03);
    const theirs = of(reference, 'arithmetic').flatMap((problem) => problem.facts);
    const negative = theirs.filter((fact) => /= -/.test(fact)).length / theirs.length;
    expect(Math.abs(share(/= -/) - negative)).toBeLessThan(0.03);
  });

  it('takes nothing from six things or fewer', () => {
    const equations = of(generated, 'word_problem').flatMap(({ facts }) => facts);
    const before = equations.filter((fact) => fact.includes(' - ')).map((fact) => Number.parseInt(fact, 10));
    expect(Math.min(...before)).toBe(7);
  });

  it('walks 1 to 20 steps, and swaps balls of 3 to 5', () => {
    const walks = of(generated, 'navigate').flatMap(({ question }) => numbers(question).slice(2));
    expect(range(walks)).toEqual([1, 20]);
    const people = of(generated, 'shuffled_objects').map(({ facts }) => facts[0]!.split(', ').length);
    expect(range(people)).toEqual([3, 5]);
    const share = people.filter((count) => count === 3).length / people.length;
    expect(Math.abs(share - 1 / 2)).toBeLessThan(0.05);
  });
});

describe('parseProblems', () => {
  const line = JSON.stringify(reference[0]);

  it('leaves blank lines and other fields out', () => {
    const noted = JSON.stringify({ ...reference[1], notes: ['add'] });
    expect(parseProblems(`${line}\n\n${noted}\n`)).toEqual(reference.slice(0, 2));
  });

  it('names the line and the field that do not fit', () => {
    const broken = { ...reference[0], facts: ['1 + 1 = 2', 3] };
    expect(() => parseProblems(`${line}\n${JSON.stringify(broken)}`)).toThrow(/^line 2: facts\[1\]: /);
    expect(() => parseProblems(`${line}\n{`)).toThrow('line 2: is not valid JSON');
    expect(() => parseProblems(line.replace('arithmetic', 'chess'))).toThrow(/^line 1: task: /);
    expect(() => parseProblems('7')).toThrow(/^line 1: Invalid input/);
  });
});
