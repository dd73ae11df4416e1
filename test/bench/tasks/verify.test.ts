import { describe, expect, it } from 'vitest';
import { extractFacts } from '#bench/tasks/facts.js';
import type { Problem } from '#bench/tasks/problem.js';
import { verify } from '#bench/tasks/verify.js';

const sum: Problem = {
  task: 'expression',
  question: 'What is (2 + 3) * 4?',
  facts: ['2 + 3 = 5', '5 * 4 = 20'],
  answer: '20',
};

/** The text that the verdict blames. */
function wrongText(problem: Problem, response: string): string | null {
  const { span } = verify(problem, response);
  return span && response.slice(...span);
}

describe('verify', () => {
  it('blames the first line whose fact differs, even where the answer is right', () => {
    const response = 'First, 2 + 3 = 6.\nThen, 6 * 4 = 24.\nThe answer is 20.';
    expect(verify(sum, response)).toEqual({ right: true, span: [0, 17] });
  });

  it('blames a line too many', () => {
    const response = '2 + 3 = 5.\n5 * 4 = 20.\nThen, 20 * 1 = 20.\nThe answer is 20.';
    expect(wrongText(sum, response)).toBe('Then, 20 * 1 = 20.');
  });

  it('blames the last line for a missing fact, and for a wrong or missing answer', () => {
    expect(wrongText(sum, '2 + 3 = 5.\nThe answer is 20.')).toBe('The answer is 20.');
    expect(wrongText(sum, '2 + 3 = 5.\n5 * 4 = 20.\nThe answer is 21.\n')).toBe('The answer is 21.\n');
    expect(wrongText(sum, '2 + 3 = 5.\n5 * 4 = 20.')).toBe('5 * 4 = 20.');
    expect(verify(sum, '')).toEqual({ right: false, span: [0, 0] });
  });

  it('counts UTF-16 code units', () => {
    expect(verify(sum, '🙂 2 + 3 = 5.\n5 * 4 = 20.').span).toEqual([0, 13]);
  });
});

describe('extractFacts', () => {
  const answerOf = (response: string) => extractFacts(response).answer;

  it('finds the answer only at the end, with or without its full stop', () => {
    expect(answerOf('The answer is 4.')).toBe('4');
    expect(answerOf('So the answer is -4\n')).toBe('-4');
    expect(answerOf('Answer: (1, 2). \n')).toBe('(1, 2)');
    expect(answerOf('The answer is 4.\nOr not.')).toBeNull();
    expect(answerOf('The answer is  ')).toBeNull();
  });

  it('takes only newlines for ends of lines', () => {
    expect(answerOf('The answer is 4\u2028or 5.')).toBe('4\u2028or 5');
    expect(extractFacts('2 + 3 = 5.\u20285 * 4 = 20.').facts).toHaveLength(1);
  });

  it('takes every line but the answer’s for a fact, without its opening word', () => {
    expect(extractFacts('We start: Ada, Ben.\n\nBen, Ada\nAnswer: Ada.').facts).toEqual([
      { text: 'Ada, Ben', span: [0, 19] },
      { text: 'Ben, Ada', span: [21, 29] },
    ]);
  });
});
