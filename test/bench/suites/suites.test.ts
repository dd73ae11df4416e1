import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { loadMath } from '#bench/suites/math.js';
import { pythonShuffle } from '#bench/suites/python-shuffle.js';
import type { BenchProblem, SuiteName, SuiteSource } from '#bench/suites/suite.js';
import { suites } from '#bench/suites/suites.js';
import { HAS_SHARED_DATA, NEEDS_DATA, SHARED_DATA } from '../../support/shared-data.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/bench/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'suites-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (suite: SuiteName, source: Partial<SuiteSource> = {}): Promise<readonly BenchProblem[]> =>
  suites[suite].load({ folder: FIXTURES + suite, subsets: null, seed: 1, count: 0, ...source });

async function first(suite: SuiteName, source: Partial<SuiteSource> = {}): Promise<BenchProblem> {
  const [problem] = await load(suite, source);
  if (!problem) throw new Error('no problem');
  return problem;
}

/** A folder of the user with one file. */
function own(file: string, text: string): string {
  const made = mkdtempSync(join(folder, 'own-'));
  writeFileSync(join(made, file), text);
  return made;
}

const ids = (problems: readonly BenchProblem[]): string[] => problems.map(({ id }) => id);

describe('math', () => {
  it('leaves out geometry and what has a drawing', async () => {
    expect(ids(await load('math'))).toEqual([
      'test/prealgebra/own-1.json',
      'test/algebra/own-1.json',
      'test/counting_and_probability/own-1.json',
    ]);
  });

  it('keeps drawings where it is asked for them, and geometry where it is asked for', async () => {
    const source = { folder: `${FIXTURES}math`, subsets: ['geometry', 'prealgebra'], seed: 0, count: 0 };
    expect(ids(await loadMath(source, true))).toEqual([
      'test/prealgebra/own-1.json',
      'test/prealgebra/own-2.json',
      'test/geometry/own-1.json',
    ]);
  });

  it('takes MATH-500 whole by its ids', async () => {
    expect(ids(await load('math', { subsets: ['math500'] }))).toEqual([
      'test/geometry/own-1.json',
      'test/algebra/own-1.json',
    ]);
    expect(ids(await load('math', { subsets: ['math500', 'algebra'] }))).toEqual(['test/algebra/own-1.json']);
  });

  it('reads rows with a subject and without an id, and one file for each subset', async () => {
    const row = { problem: 'p', solution: '\\boxed{1}', subject: 'Number Theory' };
    const made = own('test_number_theory.jsonl', JSON.stringify(row));
    const [problem] = await load('math', { folder: made, subsets: ['number_theory'] });
    expect(problem).toMatchObject({
      id: 'test_number_theory.jsonl:1',
      subset: 'number_theory',
      reference: '1',
    });
  });

  it('checks what the last box holds', async () => {
    const problem = (await load('math'))[1]!;
    expect(suites.math.check(problem, 'So $x = \\boxed{0.50}$.')).toEqual({
      extracted: '0.50',
      correct: true,
    });
    expect(suites.math.check(problem, 'It is 2.')).toEqual({ extracted: '2', correct: false });
    expect(suites.math.check(problem, 'I cannot say.')).toEqual({ extracted: null, correct: false });
    expect(suites.math.locate(problem, 'It is 2.')).toBeNull();
  });

  it('asks for a box', async () => {
    expect(suites.math.messages(await first('math'))).toEqual([
      {
        role: 'user',
        content: "What is $3+4$?\n\nLet's think step by step, and put your final answer within \\boxed{}.",
      },
    ]);
  });
});

describe('bbh', () => {
  it('reads the subsets that are asked for', async () => {
    const problems = await load('bbh', { subsets: ['web_of_lies', 'formal_fallacies'] });
    expect(ids(problems)).toEqual(['formal_fallacies-0', 'web_of_lies-0', 'web_of_lies-1']);
  });

  it('asks for the form of answer that the question has, and checks it', async () => {
    const option = await first('bbh', { subsets: ['logical_deduction_three_objects'] });
    expect(suites.bbh.messages(option)[0]?.content).toBe(
      `${option.question}\n\nLet's think step by step, and finish with "The answer is (X)." where (X) is the letter of the right option.`,
    );
    expect(suites.bbh.check(option, 'The answer is (C).')).toEqual({ extracted: '(C)', correct: true });
    expect(suites.bbh.check(option, 'The tin cup is the leftmost.')).toEqual({
      extracted: '(C)',
      correct: true,
    });
    expect(suites.bbh.check(option, 'Who knows')).toEqual({ extracted: null, correct: false });
    const lies = await first('bbh', { subsets: ['web_of_lies'] });
    expect(suites.bbh.messages(lies)[0]?.content).toContain('"The answer is Yes." or "The answer is No."');
    expect(suites.bbh.check(lies, 'So no.')).toEqual({ extracted: 'No', correct: false });
  });
});

describe('gsm8k', () => {
  it('takes the number after the mark, without separators, for the reference', async () => {
    const problems = await load('gsm8k');
    expect(problems.map(({ id, reference }) => [id, reference])).toEqual([
      ['gsm8k-0', '36'],
      ['gsm8k-1', '1000'],
    ]);
    expect(suites.gsm8k.check(problems[1]!, '\\boxed{\\$1,000}')).toEqual({
      extracted: '1,000',
      correct: true,
    });
  });
});

describe('processbench', () => {
  const source = { subsets: ['gsm8k'] };

  it('joins given steps by blank lines, and finds the labelled one', async () => {
    const problem = await first('processbench', source);
    const response = problem.given!.steps.join('\n\n');
    const span = suites.processbench.locate(problem, response)!;
    expect(response.slice(...span)).toBe('So 3 boxes hold 3 + 12 = 15 pens.');
    expect(suites.processbench.check(problem, response)).toEqual({
      extracted: '15',
      correct: false,
      by: 'labels',
    });
  });

  it('shuffles rows, as the files have wrong responses first', async () => {
    const ids = (await load('processbench', source)).map(({ id }) => id);
    expect(ids).toEqual(['gsm8k-0', 'gsm8k-2', 'gsm8k-1']);
  });

  it('takes a response with a wrong step for wrong, though its answer is right', async () => {
    const problems = await load('processbench', source);
    const [right, lucky] = ['gsm8k-1', 'gsm8k-2'].map((id) => problems.find((problem) => problem.id === id));
    const check = (problem: BenchProblem) =>
      suites.processbench.check(problem, problem.given!.steps.join('\n\n'))?.correct;
    expect([check(right!), check(lucky!)]).toEqual([true, false]);
    expect(lucky?.given?.finalAnswerCorrect).toBe(true);
    expect(suites.processbench.locate(right!, right!.given!.steps.join('\n\n'))).toBeNull();
  });

  it('says nothing of other responses', async () => {
    const problem = await first('processbench', source);
    expect(suites.processbench.check(problem, 'Other.')).toBeNull();
    expect(suites.processbench.locate(problem, 'Other.')).toBeNull();
  });
});

describe('factscore', () => {
  it('asks for biographies, which rules cannot check', async () => {
    const problems = await load('factscore');
    expect(ids(problems).toSorted()).toEqual(['Ada Lovelace', 'Emmy Noether', 'Sofya Kovalevskaya']);
    const ada = problems.find(({ id }) => id === 'Ada Lovelace')!;
    expect(suites.factscore.messages(ada)).toEqual([
      { role: 'user', content: 'Tell me a paragraph bio of Ada Lovelace.\n' },
    ]);
    expect(suites.factscore.check(ada, 'She was a mathematician.')).toBeNull();
  });
});

describe('pythonShuffle', () => {
  it('orders as Python does', () => {
    // python3 -c 'import random; l = list(range(12)); random.Random(10).shuffle(l); print(l)'
    const twelve = Array.from({ length: 12 }, (_, i) => i);
    expect(pythonShuffle(twelve, 10)).toEqual([11, 8, 4, 2, 5, 3, 1, 10, 7, 6, 0, 9]);
    // The same with Random(2 ** 32 - 1), and with 1500 numbers the sum of i · l[i].
    expect(pythonShuffle(twelve, 2 ** 32 - 1)).toEqual([0, 6, 1, 5, 8, 2, 7, 4, 11, 3, 9, 10]);
    const many = pythonShuffle(
      Array.from({ length: 1500 }, (_, i) => i),
      7,
    );
    expect(many.reduce((sum, value, i) => sum + i * value, 0)).toBe(836564549);
  });
});

describe('tasks', () => {
  it('makes problems from a seed, and has a program check and locate', async () => {
    const problems = await load('tasks', { folder: null, subsets: ['expression'], seed: 3, count: 2 });
    expect(problems.map(({ id, subset }) => [id, subset])).toEqual([
      ['tasks-3-0', 'expression'],
      ['tasks-3-1', 'expression'],
    ]);
    const problem = problems[0]!;
    const lines = [...problem.facts!.map((fact) => `${fact}.`), `The answer is ${problem.reference}.`];
    expect(suites.tasks.check(problem, lines.join('\n'))).toEqual({
      extracted: problem.reference,
      correct: true,
    });
    expect(suites.tasks.locate(problem, lines.join('\n'))).toBeNull();
    const wrong = ['1 + 1 = 3.', ...lines.slice(1)].join('\n');
    expect(wrong.slice(...suites.tasks.locate(problem, wrong)!).trim()).toBe('1 + 1 = 3.');
  });

  it('asks about other families than the embedded model’s only by name', async () => {
    const subsetsOf = async (subsets: string[] | null) =>
      new Set(
        (await load('tasks', { folder: null, subsets, seed: 3, count: 60 })).map(({ subset }) => subset),
      );
    expect(await subsetsOf(['clock', 'change'])).toEqual(new Set(['clock', 'change']));
    expect(await subsetsOf(null)).not.toContain('change');
    await expect(subsetsOf(['chess'])).rejects.toThrow('"chess" is not one of the subsets');
  });
});

describe('tasks of seeds that follow one another', () => {
  it('are others, and more of one seed begin with the same', async () => {
    const questions = async (seed: number, count: number) =>
      (await load('tasks', { folder: null, seed, count })).map(({ question }) => question);
    const [five, six] = [await questions(5, 40), await questions(6, 40)];
    expect(five.filter((question) => six.includes(question))).toEqual([]);
    expect((await questions(5, 60)).slice(0, 40)).toEqual(five);
  });
});

describe('files of users', () => {
  const row = { problem: 'p', solution: '\\boxed{1}', type: 'Algebra' };
  const numbered = { ...row, unique_id: 'a' };
  const given = { id: 'a', generator: 'g', problem: 'p', steps: ['s'], final_answer_correct: true, label: 0 };
  const lines = (...rows: object[]): string => rows.map((each) => JSON.stringify(each)).join('\n');
  const MATH = ['math', 'test.jsonl', null] as const;
  const BBH = ['bbh', 'navigate.json', ['navigate']] as const;
  const PROCESSBENCH = ['processbench', 'math.json', ['math']] as const;
  const FACTSCORE = ['factscore', 'prompt_entities.txt', null] as const;

  it.each<[SuiteName, string, readonly string[] | null, string, string]>([
    [...MATH, lines(row, { problem: 7 }), 'test.jsonl: line 2: problem: '],
    [...MATH, lines({ ...row, type: 'Origami' }), 'line 1: type: is not a MATH subject'],
    [...MATH, lines({ ...row, solution: '1' }), 'line 1: solution: has no \\boxed answer'],
    [...MATH, `${lines(row)}\n{"pro`, 'line 2: is not valid JSON'],
    [...MATH, lines(numbered, row, numbered), 'test.jsonl: row 3: the id "a" is also that of '],
    [...PROCESSBENCH, JSON.stringify([given, given]), '[1].id: the id "a" is also that of '],
    [...PROCESSBENCH, JSON.stringify([{ ...given, label: 1 }]), '[0].label: is past the last step'],
    [
      'gsm8k',
      'test.jsonl',
      null,
      lines({ question: 'q', answer: '5' }),
      'answer: has no number after "####"',
    ],
    [...BBH, lines({ examples: [{ input: 'q', target: 'Maybe' }] }), 'examples[0].target: must be (A)'],
    [...BBH, '{"examples": [', 'navigate.json: is not valid JSON'],
    [...FACTSCORE, 'A\n\nB\nA\n', 'line 4: "A" is in line 1'],
    [...FACTSCORE, '\n', 'has no entities'],
  ])('of %s: an error of %s names the place', async (suite, file, subsets, text, message) => {
    await expect(load(suite, { folder: own(file, text), subsets })).rejects.toThrow(message);
  });

  it('names how to get what is not there', async () => {
    await expect(load('gsm8k', { folder })).rejects.toThrow(
      'test.jsonl: file not found; `flinch data pull gsm8k`',
    );
    await expect(load('gsm8k', { folder: null })).rejects.toThrow('`flinch data pull gsm8k`');
  });

  it('names the subsets that there are', async () => {
    await expect(load('bbh', { subsets: ['snarks'] })).rejects.toThrow(
      '"snarks" is not one of the subsets formal_fallacies',
    );
  });
});

describe.skipIf(!HAS_SHARED_DATA)(`on the data sets${NEEDS_DATA}`, () => {
  it('loads as many problems as they have', async () => {
    const shared = (suite: SuiteName, subsets: readonly string[] | null = null) =>
      load(suite, { folder: SHARED_DATA + suite, subsets });
    const counts = [
      (await shared('math')).length,
      (await shared('math', ['math500'])).length,
      (await shared('bbh')).length,
      (await shared('gsm8k')).length,
      (await shared('processbench')).length,
    ];
    expect(counts).toEqual([4290, 500, 2750, 1319, 3400]);
    expect(ids(await shared('factscore')).slice(0, 3)).toEqual([
      'Billy Snedden',
      'Bobby Fischer',
      'Joseph Jaquet',
    ]);
  });
});

describe('questions', () => {
  it('are right if the response gives a known answer', async () => {
    const problem = { ...(await first('questions')), reference: 'Rome | Roma' };
    const { check, locate, messages } = suites.questions;
    expect(messages(problem)[0]!.content).toContain(problem.question);
    expect(check(problem, 'It is ROMA.')).toEqual({ extracted: 'Roma', correct: true, kind: 'name' });
    expect(check(problem, 'It is Romania.')).toMatchObject({ correct: false });
    expect(check({ ...problem, reference: 'romania' }, 'It is Romania!')).toMatchObject({ correct: true });
    expect(check(problem, '')).toMatchObject({ extracted: null, correct: false });
    expect(locate(problem, 'Milan.')).toEqual([0, 6]);
  });
});
