import { describe, expect, it } from 'vitest';
import { introWords } from '#web/intro.js';

describe('the introduction of the page', () => {
  it('explains the scores that the chosen model has', () => {
    for (const methods of [
      ['adversarial', 'nll'],
      ['nll', 'margin'],
    ] as const)
      expect(introWords({ methods, method: 'nll' })).toMatch(/NLL: the negative log-probability/);
    expect(introWords({ methods: ['adversarial'], method: 'adversarial' })).toMatch(/worst direction/);
    expect(introWords({ methods: null, method: null })).toMatch(/how uncertain/);
  });

  it('does not promise colours where nothing is scored', () => {
    expect(introWords({ methods: [], method: null })).toMatch(/not scored/);
  });
});
