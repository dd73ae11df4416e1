import { describe, expect, it } from 'vitest';
import { tokenSar, withoutEach } from '#bench/baselines/token-sar.js';
import { referenceVectors } from '../../support/bench-vectors.js';

describe('tokenSar', () => {
  it('gives the reference values', () => {
    const {
      logprobs,
      similarity_without_token: similarities,
      R_norm,
      E,
      tokenSAR,
    } = referenceVectors.token_sar;
    const { relevance, tokens, sum } = tokenSar(logprobs, similarities);
    const total = relevance.reduce((a, b) => a + b);
    expect(relevance.map((r) => r / total)).toEqual(R_norm.map((r) => expect.closeTo(r, 12)));
    expect(tokens).toEqual(E.map((e) => expect.closeTo(e, 12)));
    expect(sum).toBeCloseTo(tokenSAR, 12);
  });

  it('weighs all the same where none matters', () => {
    expect(tokenSar([-1, -3], [1, 1]).sum).toBe(2);
  });

  it('takes a similarity above 1 for no relevance, never for a negative one', () => {
    expect(tokenSar([-1, -3], [1.01, 0.5])).toEqual({ relevance: [0, 0.5], tokens: [0, 3], sum: 3 });
  });

  it('is 0 of nothing', () => {
    expect(tokenSar([], []).sum).toBe(0);
  });
});

it('leaves out one place, not every token of the same text', () => {
  expect(withoutEach(['a', ' b', 'a'])).toEqual([' ba', 'aa', 'a b']);
});
