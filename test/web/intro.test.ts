import { describe, expect, it } from 'vitest';
import { introWords } from '#web/ask/intro.js';

describe('the introduction of the page', () => {
  it('names the score that the chosen model is judged by', () => {
    expect(introWords({ methods: ['adversarial', 'nll'], method: 'adversarial' })).toMatch(/by Adv\. Pert\./);
    expect(introWords({ methods: null, method: null })).toMatch(/how uncertain/);
  });

  it('does not promise colours where nothing is scored', () => {
    expect(introWords({ methods: [], method: null })).toMatch(/not scored/);
  });
});
