import { describe, expect, it } from 'vitest';
import { introWords } from '#gateway/web/intro.js';

describe('the introduction of the page', () => {
  it('explains the scores that the chosen model has', () => {
    expect(introWords({ methods: ['adversarial', 'nll'] })).toMatch(/worst direction/);
    expect(introWords({ methods: ['nll', 'margin'] })).toMatch(/NLL: the negative log-probability/);
    expect(introWords({ methods: null })).toMatch(/how uncertain/);
    for (const methods of [['nll'], [], null] as const) {
      expect(introWords({ methods })).not.toMatch(/worst direction/);
    }
  });

  it('does not promise colours where nothing is scored', () => {
    expect(introWords({ methods: [] })).toMatch(/not scored/);
  });
});
