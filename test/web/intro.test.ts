import { describe, expect, it } from 'vitest';
import { introWords } from '#web/ask/intro.js';

describe('the introduction of the page', () => {
  it('says what is seen, and names no score', () => {
    for (const methods of [['adversarial', 'nll'] as const, null]) {
      const words = introWords({ methods });
      expect(words).toMatch(/how unsure/);
      expect(words).not.toMatch(/NLL|Adv\. Pert\./);
    }
  });

  it('does not promise colours where nothing is scored', () => {
    expect(introWords({ methods: [] })).toMatch(/not scored/);
  });
});
