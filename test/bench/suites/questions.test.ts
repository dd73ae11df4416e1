import { describe, expect, it } from 'vitest';
import { questionsSuite, readQuestions } from '#bench/suites/questions.js';

const check = (question: string, answers: readonly string[], response: string) =>
  questionsSuite.check(
    { id: 'x', subset: 'questions', question, reference: answers.join(' | '), given: null },
    response,
  )!.correct;

describe('a response', () => {
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
    expect(check('', answers, text)).toBe(expected);
  });
});

describe('the questions', () => {
  const questions = readQuestions();

  it('are different', () => {
    expect(new Set(questions.map(({ question }) => question)).size).toBe(questions.length);
    expect(questions.length).toBeGreaterThanOrEqual(1000);
  });

  it('do not contain their answers, so that repeating one is no answer', () => {
    expect(questions.filter(({ question, answers }) => check('', answers, question))).toEqual([]);
  });
});

describe('an answer', () => {
  const problem = { id: 'x', subset: 'questions', question: '', reference: 'Paris | paris', given: null };

  it('is right if a known one is in it, and else all wrong', () => {
    const [right, wrong] = ['It is Paris.', 'It is Rome.'];
    expect(questionsSuite.check(problem, right)).toMatchObject({ correct: true });
    expect(questionsSuite.locate(problem, right)).toBeNull();
    expect(questionsSuite.check(problem, wrong)).toMatchObject({ correct: false });
    expect(questionsSuite.locate(problem, wrong)).toEqual([0, wrong.length]);
  });
});
