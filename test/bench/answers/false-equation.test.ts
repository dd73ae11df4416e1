import { describe, expect, it } from 'vitest';
import { firstFalseEquation } from '#bench/answers/false-equation.js';

describe('the first false equation', () => {
  it.each([
    'So 3 + 12 = 16.',
    'They pay $3.5 * 4,000 = $15,000 for it.',
    '\\(2 \\text{ books} \\times 2 \\text{ pounds} = 5 \\text{ pounds}\\)',
    '\\[ \\frac{1}{2} \\times 10 = 6 \\]',
    'The total is x = 3 * 4 = 13',
    'First 1 + 2 = 3, then 4 + 4 = 9.',
    '(3 + 4) × 2 = 15',
  ])('is found in %j', (step) => {
    expect(firstFalseEquation(['Let us see.', step])).toBe(1);
  });

  it.each([
    'So 3 + 12 = 15.',
    'They pay $3.5 * 4,000 = $14,000 for it.',
    '10 / 3 = 3.33',
    '\\frac{19}{10} + 0 = 1\\frac{9}{10}',
    '2x + 3 + 4 = 9',
    '10 - 4 = 1.5x',
    '16 = 4 + 9 - 12 \\cos C',
    '7995 (cookies) - 2595 (eaten) = 4500',
    '120\\% * 3 = 5',
    'V = \\pi (2)^2 = 12.57',
  ])('is not found in %j', (step) => {
    expect(firstFalseEquation([step])).toBeNull();
  });

  it('is the first of several', () => {
    expect(firstFalseEquation(['1 + 1 = 2', '1 + 1 = 3', '1 + 1 = 4'])).toBe(1);
  });
});
