import { describe, expect, it } from 'vitest';
import { describeError, formatScore, visibleText } from '#gateway/web/words.js';

describe('what the page writes', () => {
  it.each([
    [0, '0'],
    [0.0123456, '0.0123'],
    [-0.000199, '−0.000199'],
    [0.0000032, '3.2e−6'],
    [12.34, '12.3'],
  ])('writes the score %f as %s', (value, text) => {
    expect(formatScore(value)).toBe(text);
  });

  it('makes whitespace visible', () => {
    expect(visibleText(' so\n')).toBe('␣so↵');
    expect(visibleText('')).toBe('(part of a character)');
  });

  it('says what an error means before what the server said, and only the latter if it is unknown', () => {
    expect(describeError('no slot', 'overloaded')).toMatch(/^The model is busy.*\(no slot\)$/);
    expect(describeError('no such model', 'model_not_found')).toBe('no such model');
    expect(describeError('odd', null)).toBe('odd');
  });
});
