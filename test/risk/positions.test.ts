import { describe, expect, it } from 'vitest';
import { levelsFor } from '#src/numerics/distribution.js';
import { byPosition, type TokenSample } from '#src/risk/positions.js';

/** Tokens of answers of 200 tokens, whose scores are evenly spread and scaled by position. */
function answers(count: number, scale: (index: number) => number): TokenSample[] {
  return Array.from({ length: count }, (_, answer) =>
    Array.from({ length: 200 }, (_, index) => {
      const uniform = ((answer * 200 + index) * 0.6180339887498949) % 1;
      return { index, score: uniform * scale(index) };
    }),
  ).flat();
}

const binsOf = (samples: TokenSample[]): number[] =>
  byPosition(samples, levelsFor(samples.length)).positions.map(({ from }) => from);

describe('quantiles by position', () => {
  it('are one for all where scores do not depend on it', () => {
    expect(binsOf(answers(300, () => 1))).toEqual([]);
  });

  it('are apart for the first tokens where those score higher, and the others do without them', () => {
    const samples = answers(300, (index) => (index < 8 ? 1.02 : 1));
    const { tokens, positions } = byPosition(samples, [0, 0.99, 1]);
    expect(positions).toMatchObject([{ from: 0, to: 8, count: 2400 }]);
    expect(positions[0]!.quantiles[1]).toBeCloseTo(1.01, 2);
    expect(tokens.count).toBe(300 * 192);
    expect(tokens.quantiles[1]).toBeCloseTo(0.99, 2);
  });

  it('are one for all while a bin holds too few tokens to tell', () => {
    expect(binsOf(answers(100, (index) => (index < 8 ? 1.02 : 1)))).toEqual([]);
  });

  it('do not care for a difference of less than a third', () => {
    // 1.25 % of the first tokens, 0.99 % of the others: certain with so many, and still no matter.
    expect(binsOf(answers(3000, (index) => (index < 8 ? 1.0026 : 1)))).toEqual([]);
  });
});
