import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchStep } from '#bench/judge/match-step.js';

const RESPONSE =
  'First we add: $3 + 4 = 7$.\n**Then** we multiply by \\(2\\): 7 * 2 = 15.\n\nSo the answer is 15.';

/** The text that was found. */
const found = (quoted: string, response = RESPONSE): string | null => {
  const match = matchStep(quoted, response);
  return match && response.slice(...match.span);
};

describe('matchStep', () => {
  it('finds the very text, the first of several', () => {
    expect(matchStep(' So the answer is 15. ', RESPONSE)).toEqual({ span: [71, 91], similarity: 1 });
    expect(matchStep('ab', 'xabab')).toEqual({ span: [1, 3], similarity: 1 });
  });

  it('does not mind white space, case and markup', () => {
    expect(found('then we multiply by 2:  7 * 2 = 15.')).toBe('Then** we multiply by \\(2\\): 7 * 2 = 15.');
    expect(matchStep('then we multiply by 2: 7 * 2 = 15.', RESPONSE)?.similarity).toBeCloseTo(1);
    expect(found('First we add:\n3 + 4 = 7.')).toBe('First we add: $3 + 4 = 7$.');
  });

  it('finds what is quoted with a few other letters', () => {
    const match = matchStep('Then, we multiply with 2: 7 * 2 = 15.', RESPONSE);
    expect(RESPONSE.slice(...match!.span)).toBe('Then** we multiply by \\(2\\): 7 * 2 = 15.');
    expect(match!.similarity).toBeGreaterThan(0.8);
    expect(match!.similarity).toBeLessThan(1);
  });

  it('counts edits against the length of the quotation', () => {
    expect(matchStep('abcdefghij', '--abcdeXghij--')).toEqual({ span: [2, 12], similarity: 0.9 });
    expect(matchStep('abcdefghij', '--abcdefhij--')).toEqual({ span: [2, 11], similarity: 0.9 });
    expect(matchStep('abcdefghij', '--abXcdeXfghXij--')).toBeNull();
    expect(matchStep('abcdefghij', '--abXcdeXfghij--')).toEqual({ span: [2, 14], similarity: 0.8 });
  });

  it('refuses what is not in the response', () => {
    for (const quoted of ['The capital of France is Paris.', '', '   ', '**']) {
      expect(matchStep(quoted, RESPONSE)).toBeNull();
    }
    expect(matchStep('anything', '')).toBeNull();
  });

  it('is quick for long texts', () => {
    const long = 'We compute the next value of the sequence and go on. '.repeat(160);
    expect(found(`${long.slice(1000, 1400)}!`, long)).not.toBeNull();
  });

  it('finds every piece of a response that has three characters that count', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 200 }), fc.nat(199), fc.nat(199), (text, a, b) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b) + 1];
        const piece = text.slice(start, end);
        if (!/[a-z0-9]{3}/.test(piece)) return;
        const match = matchStep(piece, text);
        expect(match?.similarity).toBe(1);
        expect(text.slice(...match!.span)).toBe(piece.trim());
      }),
    );
  });
});
