import { describe, expect, it } from 'vitest';
import { TASKS } from '#bench/pretrained/tasks.js';
import { containsAnswer, readQuestions } from '#bench/suites/questions.js';
import { HAS_SHARED_DATA, NEEDS_DATA, SHARED_DATA } from '../../support/shared-data.js';

const problem = { id: 'x', question: '', messages: [], completion: '', given: null, answers: [] };

describe('containsAnswer', () => {
  it.each([
    ['The capital is Paris.', ['Paris'], true],
    ['It is PARIS', ['Paris'], true],
    ['It is Parisian', ['Paris'], false],
    ['7 + 8 = 15.', ['15'], true],
    ['It is 115.', ['15'], false],
    ['It is 1.15.', ['15'], false],
    ['It is 15.5.', ['15'], false],
    ['It is 1,024.', ['1024', '1,024'], true],
    ['H2O.', ['H₂O', 'H2O'], true],
  ])('%s', (text, answers, expected) => {
    expect(containsAnswer(text, answers)).toBe(expected);
  });
});

describe('the questions', () => {
  const questions = readQuestions();

  it('are different', () => {
    expect(new Set(questions.map(({ question }) => question)).size).toBe(questions.length);
    expect(questions.length).toBeGreaterThanOrEqual(1000);
  });

  it('do not contain their answers, so that repeating one is no answer', () => {
    expect(questions.filter(({ question, answers }) => containsAnswer(question, answers))).toEqual([]);
  });
});

describe('labels', () => {
  it('of steps with equations: one false equation makes a step wrong', () => {
    const steps = ['3 * 4 = 12.', '3 * 4 = 12 and 5 + 5 = 11.', 'The answer is 12.'];
    expect(TASKS.equations.label(problem, steps)).toEqual([false, true, null]);
  });

  it('of given steps: right before the first wrong one, and none after it', () => {
    const given = { generator: '', steps: ['a', 'b', 'c'], finalAnswerCorrect: false };
    const label = (firstWrong: number | null) =>
      TASKS['read-math'].label({ ...problem, given: { ...given, firstWrong } }, given.steps);
    expect(label(1)).toEqual([false, true, null]);
    expect(label(null)).toEqual([false, false, false]);
  });

  it('of an answer: whether a known one is in it', () => {
    const asked = { ...problem, answers: ['Paris'] };
    expect(TASKS.questions.label(asked, ['It is Paris.'])).toEqual([false]);
    expect(TASKS.questions.label(asked, ['It is Rome.'])).toEqual([true]);
  });
});

describe(`problems${NEEDS_DATA}`, () => {
  it.skipIf(!HAS_SHARED_DATA).each(['equations', 'read-gsm8k', 'read-math'] as const)(
    'of %s are more than 150',
    async (task) => {
      expect((await TASKS[task].load(SHARED_DATA)).length).toBeGreaterThan(150);
    },
  );
});
