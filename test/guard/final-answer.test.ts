import { expect, it } from 'vitest';
import { finalAnswer } from '#src/guard/final-answer.js';

it.each([
  ['So 3 + 4 = 7. The answer is 1,250.00 dollars.', '1250'],
  ['She pays $18.', '18'],
  ['It falls to -3.5 degrees', '-3.5'],
  ['5-3 = 2', '2'],
  ['pages 3-5', '5'],
  ['The probability is 3/4.', '3/4'],
  ['Take route A7.', 'take route a 7'],
  ['\\boxed{1} and then \\boxed{ \\frac{1}{2} } of 40', '\\frac{1}{2}'],
  ['\\boxed{1,000}', '1000'],
  ['The box \\boxed{12 is open', '12'],
  ['First.\nThe answer is Paris.\n', 'answer paris'],
  ['\\boxed{}', null],
  ['\\boxed{90071992547409931}', '90071992547409931'],
  ['', null],
  ['…', null],
])('of %j is %j', (text, said) => {
  expect(finalAnswer(text)).toBe(said);
});
