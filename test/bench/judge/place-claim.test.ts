import { describe, expect, it } from 'vitest';
import { placeClaim } from '#bench/judge/place-claim.js';

const TEXT = 'Ada was born in London. She wrote the first program in London, and died there.';
const placed = (claim: string, words: readonly string[]) =>
  placeClaim(claim, words, TEXT).map(([start, end]) => [start, TEXT.slice(start, end)]);

describe('placeClaim', () => {
  it('takes the words in the sentence that has most of them', () => {
    expect(placed('x', ['wrote', 'in', 'London'])).toEqual([
      [28, 'wrote'],
      [52, 'in'],
      [55, 'London'],
    ]);
    expect(placed('x', ['in', 'London'])).toEqual([
      [13, 'in'],
      [16, 'London'],
    ]);
  });

  it('takes the sentence most like the claim where the words are not in one', () => {
    const second = [[24, 'She wrote the first program in London, and died there.']];
    expect(placed('She wrote the first programme in London', ['born', 'wrote', 'London'])).toEqual(second);
    expect(placed('she wrote the first program', [])).toEqual(second);
  });

  it('has no place for what is nowhere in the response', () => {
    expect(placed('Her father was a poet.', ['father', 'poet'])).toEqual([]);
    expect(placed('Her father was a poet.', [])).toEqual([]);
  });
});
