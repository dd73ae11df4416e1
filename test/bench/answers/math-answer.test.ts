import { describe, expect, it } from 'vitest';
import { extractMathAnswer } from '#bench/answers/math-answer.js';
import { lastBoxed } from '#src/answers/boxed.js';

describe('lastBoxed', () => {
  it.each([
    ['the last one', 'first \\boxed{1}, then \\boxed{2}.', '2'],
    ['what braces hold', '$\\boxed{\\frac{1}{\\sqrt{2}}}$', '\\frac{1}{\\sqrt{2}}'],
    ['escaped braces', '\\boxed{\\left\\{ x \\right.} done', '\\left\\{ x \\right.'],
    ['a command without braces', '$x = \\boxed 5$ or so', '5'],
    ['a frame', 'it is $\\fbox{7}$', '7'],
    ['a box before a frame', '\\boxed{3} \\fbox{7}', '3'],
    ['the inner of two', '\\boxed{\\boxed{5}}', '5'],
    ['the one before, where the last is not closed', '\\boxed{4} and \\boxed{5', '4'],
    ['the one before, where the last is empty', '\\boxed{4} in \\boxed{}', '4'],
    ['nothing of other commands', '\\boxedtext{4}', null],
    ['nothing', 'no box', null],
  ])('is %s', (_, text, expected) => {
    expect(lastBoxed(text)).toBe(expected);
  });

  it('looks at a long text once', () => {
    // Looking for the end of each anew would take minutes.
    expect(lastBoxed('\\boxed{'.repeat(200_000))).toBeNull();
    expect(lastBoxed(`\\boxed{8}${'\\boxed '.repeat(200_000)}`)).toBe('8');
  });
});

describe('extractMathAnswer', () => {
  it.each([
    ['a box first', 'The answer is 3. So \\boxed{4}, that is 5.', '4'],
    ['a formula after "answer is"', 'The answer is $\\frac{1}{2}$. I hope it is correct.', '\\frac{1}{2}'],
    ['the last "answer is"', 'Is the answer is 4? The final answer is: 5', '5'],
    ['a formula on lines of its own', 'the final answer is\n\n$$x^2$$', 'x^2'],
    ['a formula in round brackets', 'The answer is \\(a+b\\).', 'a+b'],
    ['emphasis', 'The answer is **12**.', '12'],
    ['the sentence', 'Thus the answer is 3.5 meters. That is all 7.', '3.5 meters'],
    ['the last number', 'We get 3, then 1,234.', '1,234'],
    ['a negative decimal', 'x is -0.5', '-0.5'],
    ['nothing', 'no idea', null],
  ])('finds %s', (_, response, expected) => {
    expect(extractMathAnswer(response)).toBe(expected);
  });
});
