import { describe, expect, it } from 'vitest';
import { contentOf, kindOfStep, stepScore, weigh } from '#src/risk/step-score.js';

const scored = (...texts: string[]) => texts.map((text) => ({ text, score: 1 }));
const namesIn = (...texts: string[]) => texts.filter((text, i) => contentOf(text, texts[i - 1] ?? ''));

describe('contentOf', () => {
  it('knows numbers and mathematical signs', () => {
    for (const text of ['7', ' 12', '½', '٣', '三1', '+', ' =', '×', '%', '-', '/'])
      expect(contentOf(text, 'is')).toBe('number');
    for (const text of ['', ' seven', '.', '(', '$', '\\', ':', ','])
      expect(contentOf(text, 'is')).toBeNull();
  });

  it('takes a capital letter inside of a sentence for a name', () => {
    expect(namesIn('The', ' capital', ' of', ' Peru', ' is', ' L', 'ima', '.')).toEqual([' Peru', ' L']);
    expect(namesIn('So', '.', ' Then', '\n', 'Ann', ' and', ' Ömer', ':', ' They')).toEqual([' Ömer']);
    expect(namesIn('-', ' First', ' **', 'Total', '**', ' “', 'Yes')).toEqual(['-', ' First', ' **', '**']);
  });
});

describe('scores', () => {
  it('count what states something twice', () => {
    expect(weigh(scored('So', ' 3', ' +', ' it')).map(({ weight }) => weight)).toEqual([1, 2, 2, 1]);
    expect(stepScore(scored('So', ' 3', ' +', ' it'), 1)).toBe(6);
  });

  it('count numbers and signs of a step that calculates four times', () => {
    expect(stepScore(scored('So', ' 3', ' +', ' 4', ' =', ' 7', ' for', ' Ann'), 1)).toBe(2 + 5 * 4 + 2);
  });

  it('are half as high for the first step', () => {
    expect([0, 1, 15].map((step) => stepScore(scored('a', 'b'), step))).toEqual([1, 2, 2]);
  });

  it('are −∞ where no token has a score', () => {
    expect(stepScore([], 5)).toBe(Number.NEGATIVE_INFINITY);
  });
});

describe('kindOfStep', () => {
  it('tells steps with a digit from others', () => {
    expect(kindOfStep(['So', ' 3', ' it'])).toBe('numbers');
    expect(kindOfStep(['٣'])).toBe('numbers');
    expect(kindOfStep(['- ', 'So', ' it', ' =', ' *'])).toBe('words');
    expect(kindOfStep([])).toBe('words');
  });
});
