import { expect, it } from 'vitest';
import { finalAnswer } from '#src/answers/final-answer.js';

it.each([
  ['So 3 + 4 = 7. The answer is 1,250.00 dollars.', '1250'],
  ['She pays $18.', '18'],
  ['It falls to -3.5 degrees', '-3.5'],
  ['5-3 = 2', '2'],
  ['The probability is 3/4.', '0.75'],
  ['Take route A7.', 'take route a7'],
  ['\\boxed{1} and then \\boxed{ \\frac{1}{2} } of 40', '0.5'],
  ['\\boxed{1,000}', '1000'],
  ['\\boxed{x^2 + 1}', 'x^2+1'],
  ['First.\nThe answer is Paris.\n', 'paris'],
  ['<think>12? No.</think>It is 13.', '13'],
  ['<think>It is 13', null],
  ['\\boxed{90071992547409931}', '90071992547409931'],
  ['pages 3 to 5', null],
  ['It is 3 or 4.', null],
  ['I see.\n\nOnce there was a king. He had a daughter. She had a horse. It was old.', null],
  ['', null],
  ['…', null],
])('of %j is %j', (text, said) => {
  expect(finalAnswer(text)).toBe(said);
});

it.each([
  [['No, 7 * 13 = 91.', 'no', '**No**', 'The answer is no.', '\\boxed{\\text{No}}']],
  [['9 November 1989', 'November 9, 1989', '1989-11-09', 'It fell on the 9th of November, 1989.']],
  [['12,500', '12 500', '12\u202f500', '$12\\,500$', '12.5 thousand', 'It is 12500.']],
  [['(B)', 'Answer: b', '\\boxed{\\textbf{B}}', '{"answer": "B"}']],
  [['Bern', 'The capital is Bern.', 'Bern is the capital.', 'It is “Bern”.']],
])('is the same for all of %j', (texts) => {
  const said = new Set(texts.map(finalAnswer));
  expect([...said]).toEqual([expect.any(String)]);
});

it.each([
  ['Yes, 91 is prime.', 'No, 7 * 13 = 91.'],
  ['It began on 3 May 1999.', 'It began on 4 June 1999.'],
  ['It was Albert Einstein in 1905.', 'It was Max Planck in 1905.'],
  ['A', 'B'],
  ['It is −5.', 'It is 5.'],
])('is not the same for %j and %j', (one, other) => {
  expect(finalAnswer(one)).not.toBeNull();
  expect(finalAnswer(one)).not.toBe(finalAnswer(other));
});
