import { describe, expect, it } from 'vitest';
import { introWords } from '#web/intro.js';

describe('the introduction of the page', () => {
  it('explains the scores that the chosen model has', () => {
    for (const methods of [
      ['adversarial', 'nll'],
      ['nll', 'margin'],
    ] as const)
      expect(introWords({ methods })).toMatch(/NLL: the negative log-probability/);
    expect(introWords({ methods: ['adversarial'] })).toMatch(/worst direction/);
    expect(introWords({ methods: null })).toMatch(/how uncertain/);
  });

  it('does not promise colours where nothing is scored', () => {
    expect(introWords({ methods: [] })).toMatch(/not scored/);
  });
});
