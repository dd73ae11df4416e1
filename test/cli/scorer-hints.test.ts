import { describe, expect, it } from 'vitest';
import { scorerHints } from '#cli/serve/serve-hints.js';

const hintsOf = (models: object) => scorerHints({ models } as Parameters<typeof scorerHints>[0]);
const far = { upstreams: [] };

describe('what is said of models without Adv. Pert.', () => {
  it('is one line about all of them', () => {
    expect(hintsOf({ a: far, b: far, c: { ...far, scorer: 'x' }, d: far, e: { checkpoint: 'x' } })).toEqual([
      'a, b, and d have no Adv. Pert.: it takes a scorer (--scorer, or scorer in the configuration)',
    ]);
    expect(hintsOf({ a: far })[0]).toMatch(/^a has no Adv\. Pert\.: /);
    expect(hintsOf({ e: { checkpoint: 'x' } })).toEqual([]);
  });
});
