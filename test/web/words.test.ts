import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ADVERSARIAL_OR_ENTROPY,
  describeError,
  formatProbability,
  formatScore,
  visibleText,
} from '#web/words.js';

it('says of Adv. Pert. and entropy what was measured', () => {
  const found = readFileSync('docs/guard.md', 'utf8').match(
    /temperature 1 \((\d+) and (\d+) % of the first wrong steps/,
  );
  expect(found).not.toBeNull();
  expect(ADVERSARIAL_OR_ENTROPY).toContain(`${found![1]} against ${found![2]} %`);
});

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

  it.each([
    [0.12345, '12.35 %'],
    [0.00012, '0.01 %'],
    [0.0000324, '0.00324 %'],
    [0, '0 %'],
  ])('writes the probability %f as %s', (value, text) => {
    expect(formatProbability(value)).toBe(text);
  });

  it('makes whitespace visible', () => {
    expect(visibleText(' so\n')).toBe('␣so↵');
    expect(visibleText('')).toBe('(part of a character)');
  });

  it('says what an error means before what the server said, and only the latter if it is unknown', () => {
    const words = (message: string, code: string) => describeError({ message, code });
    expect(words('no slot', 'overloaded')).toMatch(/^The model is at its limit.*\(no slot\)$/);
    expect(words('no such model', 'model_not_found')).toBe('no such model');
  });
});
