import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseJsonLines } from '#src/files/json-lines.js';
import { extractFacts } from '#src/tasks/facts.js';
import { FIRST_TASKS, type Problem, problemSchema } from '#src/tasks/problem.js';
import { verify } from '#src/tasks/verify.js';

/** Responses of the first embedded model with the verdicts of the reference. */
const cases = parseJsonLines(
  readFileSync(new URL('../fixtures/tasks/verifier_cases.jsonl', import.meta.url), 'utf8'),
  z.object({
    problem: problemSchema,
    response: z.string(),
    right: z.boolean(),
    span: z.tuple([z.number(), z.number()]).nullable(),
  }),
);

const sum: Problem = {
  task: 'arithmetic',
  question: 'Compute (2 + 3) * 4.',
  facts: ['2 + 3 = 5', '5 * 4 = 20'],
  answer: '20',
};

/** The text that the verdict blames. */
function wrongText(problem: Problem, response: string): string | null {
  const { span } = verify(problem, response);
  return span && response.slice(...span);
}

describe('verify', () => {
  it.each(FIRST_TASKS)('judges every response as the reference does: %s', (task) => {
    const mine = cases.filter(({ problem }) => problem.task === task);
    expect(mine.length).toBeGreaterThan(0);
    for (const { problem, response, right, span } of mine) {
      expect({ response, ...verify(problem, response) }).toEqual({ response, right, span });
    }
  });

  it('has cases with and without a wrong line', () => {
    expect(cases).toHaveLength(360);
    expect(cases.filter(({ span }) => span !== null)).toHaveLength(126);
  });

  it('blames the first line whose fact differs, even where the answer is right', () => {
    const response = 'First, 2 + 3 = 6.\nSo 6 * 4 = 24.\nThe answer is 20.';
    expect(verify(sum, response)).toEqual({ right: true, span: [0, 17] });
  });

  it('blames a line too many', () => {
    const response = '2 + 3 = 5.\n5 * 4 = 20.\nThen 20 * 1 = 20.\nThe answer is 20.';
    expect(wrongText(sum, response)).toBe('Then 20 * 1 = 20.');
  });

  it('blames the last line for a missing fact, and for a wrong or missing answer', () => {
    expect(wrongText(sum, '2 + 3 = 5.\nThe answer is 20.')).toBe('The answer is 20.');
    expect(wrongText(sum, '2 + 3 = 5.\n5 * 4 = 20.\nThe answer is 21.\n')).toBe('The answer is 21.\n');
    expect(wrongText(sum, '2 + 3 = 5.\n5 * 4 = 20.')).toBe('5 * 4 = 20.');
    expect(verify(sum, '')).toEqual({ right: false, span: [0, 0] });
  });

  it('counts UTF-16 code units', () => {
    const response = '🙂 we start\n2 + 3 = 6.';
    expect(wrongText(sum, response)).toBe('2 + 3 = 6.');
  });
});

describe('extractFacts', () => {
  const answerOf = (response: string) => extractFacts('arithmetic', response).answer;

  it('finds the answer only at the end, with or without its full stop', () => {
    expect(answerOf('The answer is 4.')).toBe('4');
    expect(answerOf('So the answer is -4\n')).toBe('-4');
    expect(answerOf('Answer: (1, 2). \n')).toBe('(1, 2)');
    expect(answerOf('The answer is 4.\nOr not.')).toBeNull();
    expect(answerOf('The answer is  ')).toBeNull();
  });

  // What the patterns mean in Python, where they come from.
  it('knows digits and letters of all scripts, and takes only newlines for ends of lines', () => {
    expect(extractFacts('arithmetic', '٢ + 3 = 5').facts).toMatchObject([{ text: '٢ + 3 = 5' }]);
    expect(extractFacts('shuffled_objects', 'Ada red, Ben redé, Eva blue').facts).toMatchObject([
      { text: 'Ada red, Eva blue' },
    ]);
    expect(answerOf('The answer is 4\u2028or 5.')).toBe('4\u2028or 5');
    expect(extractFacts('web_of_lies', 'so Ada lies.\r\nso Ben lies.').facts).toEqual([
      { text: 'Ben lie', span: [14, 26] },
    ]);
  });

  it('needs two holders for a state, and a claim at the end of its line', () => {
    expect(extractFacts('shuffled_objects', 'Ada red.').facts).toEqual([]);
    expect(extractFacts('web_of_lies', 'Ada lies, so Ben tells the truth.').facts).toMatchObject([
      { text: 'Ben truth' },
    ]);
    expect(extractFacts('web_of_lies', 'Ada lies, we think.').facts).toEqual([]);
  });
});
