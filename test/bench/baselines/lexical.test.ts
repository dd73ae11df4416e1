import { describe, expect, it } from 'vitest';
import { lexicalEmbeddings, lexicalSimilarity } from '#bench/baselines/lexical.js';

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);

describe('lexicalSimilarity', () => {
  const text = 'So the sum of 12 and 7 is not 19 marbles';

  it('loses more by a number, a content word or a negation than by function words', () => {
    const without = (word: string) => lexicalSimilarity(text, text.replace(` ${word}`, ''));
    for (const content of ['12', 'sum', 'not', 'marbles']) {
      for (const functional of ['the', 'of', 'and', 'is']) {
        expect(1 - without(content)).toBeGreaterThan(10 * (1 - without(functional)));
      }
    }
  });

  it('is the cosine of the counts', () => {
    // 2, +, 3 and 5 against 2, +, 3 and 6.
    expect(lexicalSimilarity('2 + 3 5', '2 + 3 6')).toBeCloseTo(3 / 4, 12);
    expect(lexicalSimilarity('x x y', 'x y')).toBeCloseTo(3 / Math.sqrt(10), 12);
  });

  it('is 1 for equal texts in any case, 0 for nothing in common, 1 for nothing at all', () => {
    expect(lexicalSimilarity('The House.', 'the house')).toBeCloseTo(1, 12);
    expect(lexicalSimilarity('house', 'garden')).toBe(0);
    expect(lexicalSimilarity('!', '')).toBe(1);
    expect(lexicalSimilarity('house', '')).toBe(0);
  });

  it('takes a number with its decimals for one term', () => {
    expect(lexicalSimilarity('1.25', '1.5')).toBe(0);
  });
});

describe('lexicalEmbeddings', () => {
  it('are of length 1, and closest for texts that say the same', () => {
    const [a, b, c] = lexicalEmbeddings(['The sum is 12.', 'so 12 is the sum', 'The sum is 14.']);
    expect(dot(a!, a!)).toBeCloseTo(1, 12);
    expect(dot(a!, b!)).toBeGreaterThan(0.95);
    expect(dot(a!, c!)).toBeLessThan(0.7);
  });

  it('is nowhere for a text without a term', () => {
    expect(lexicalEmbeddings(['a 1', '!'])[1]).toEqual([0, 0]);
  });
});
