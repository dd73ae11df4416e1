import { describe, expect, it } from 'vitest';
import { equationsIn } from '#lab/small-models/equations.js';

const holding = (text: string): boolean[] => equationsIn(text).map(({ holds }) => holds);

describe('equationsIn', () => {
  it.each([
    ['So, 16 * 4 = 64 ducks are laid out every day.', [true]],
    ['So, 40 * 12 = 440.', [false]],
    ['Total distance = 3 sprints * 4 weeks = 12 weeks', [true]],
    ['$80,000 * 1.15 = $95,000', [false]],
    ['4 hours + 4 hours = 8 hours', [true]],
    ['3 pens per box * 4 = 12', [true]],
    ['He has 5 eggs + 3 eggs = 8 eggs, so 8 - 2 = 7.', [true, false]],
    ['- 3 x 4 = 12', [true]],
    ['1. 3 × 4 = 12', [true]],
    ['\\(3 \\times 4 = 12\\)', [true]],
    ['**((2 + 3) * 4) / 2 = 10**', [true]],
    ['200/(2*5) = 20', [true]],
    ['-3 + 5 = 2', [true]],
    ['(so 3 + 5 = 8)', [true]],
    ['(3 + 5 = 9)', [false]],
    ['$ 3 + $5 = $8 per day', [true]],
    ['3 - 5 = -2', [true]],
    ['5 = 2 + 3', [true]],
  ])('%s', (text, expected) => {
    expect(holding(text)).toEqual(expected);
  });

  it('takes each sign of a chain for an equation', () => {
    expect(equationsIn('2 * 3 = 6 + 4 = 10')).toEqual([
      { text: '2*3 = 6+4', holds: false },
      { text: '6+4 = 10', holds: true },
    ]);
  });

  it('accepts a result that is rounded or cut off to the decimals written, and no other', () => {
    expect(holding('10 / 3 = 3.33')).toEqual([true]);
    expect(holding('20 / 3 = 6.66')).toEqual([true]);
    expect(holding('20 / 3 = 6.6')).toEqual([true]);
    expect(holding('20 / 3 = 6.5')).toEqual([false]);
    expect(holding('10 / 3 = 3')).toEqual([false]);
  });

  it('reads a percentage as a number or as a part', () => {
    expect(holding('5 / 20 * 100 = 25%')).toEqual([true]);
    expect(holding('20% * 50 = 10')).toEqual([true]);
    expect(holding('20% * 50 = 15')).toEqual([false]);
  });

  it.each([
    'x + 3 = 5',
    '2x = 6',
    'a = 12',
    '12 = 12',
    'half of 8 + 2 = 6',
    '1/2 of 8 = 4',
    '3 * 4 = 12 times 2',
    '2 * 3 * 4 = 24 + x',
    '5 * x = 10',
    '5 / 0 = 0',
    '25 + 1 = 26 + 20% of 25',
    'There are 5 apples.',
  ])('finds none in: %s', (text) => {
    expect(equationsIn(text)).toEqual([]);
  });

  it('takes no long time for a long line', () => {
    expect(equationsIn(`${'1 + '.repeat(500)}1`)).toEqual([]);
    expect(equationsIn(`1 ${'word '.repeat(2000)}= 2`)).toEqual([]);
  });
});
