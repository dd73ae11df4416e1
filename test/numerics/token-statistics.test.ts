import { describe, expect, it } from 'vitest';
import { tokenStatistics } from '#src/numerics/token-statistics.js';

const logprobs = (...probabilities: number[]): Float32Array => Float32Array.from(probabilities, Math.log);

describe('tokenStatistics', () => {
  it('takes the entropy of the whole distribution', () => {
    expect(tokenStatistics(logprobs(0.25, 0.25, 0.25, 0.25), 2).entropy).toBeCloseTo(Math.log(4), 6);
    expect(tokenStatistics(logprobs(0.5, 0.25, 0.25), 0).entropy).toBeCloseTo(1.5 * Math.log(2), 6);
  });

  it.each([
    ['the most probable', 1, 1 - (0.5 - 0.3)],
    ['another', 3, 1 - (0.3 - 0.5)],
  ])('takes the margin to the largest other token: %s', (_, id, margin) => {
    expect(tokenStatistics(logprobs(0.05, 0.5, 0.15, 0.3), id).margin).toBeCloseTo(margin, 6);
  });

  it('is not finite next to an impossible token: no score is made of it', () => {
    expect(tokenStatistics(logprobs(0.5, 0.5, 0), 0).entropy).toBeNaN();
  });
});
