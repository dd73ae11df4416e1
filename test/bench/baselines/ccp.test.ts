import { describe, expect, it } from 'vitest';
import {
  alternativesOf,
  ccpUncertainty,
  combineRelations,
  isFunctional,
  logCcp,
  type Relation,
  wordOf,
} from '#bench/baselines/ccp.js';
import { referenceVectors } from '../../support/bench-vectors.js';

describe('logCcp', () => {
  it('gives the reference value', () => {
    const { alternatives, relation_to_first: relations, log_ccp: expected } = referenceVectors.ccp;
    const logprobs = alternatives.map(([, logprob]) => logprob);
    const known = relations.map((relation): Relation => (relation === 'self' ? 'entail' : relation));
    expect(logCcp(logprobs, known)).toBeCloseTo(expected, 12);
  });

  it('is 0 without an opposite, and holds where probabilities underflow', () => {
    expect(logCcp([-0.2, -2], ['entail', 'neutral'])).toBe(0);
    expect(logCcp([-2000, -2000], ['entail', 'contra'])).toBeCloseTo(-Math.LN2, 12);
  });

  it('does not read the relation of the token to itself', () => {
    expect(logCcp([-1, -1], ['neutral', 'contra'])).toBeCloseTo(-Math.LN2, 12);
  });
});

describe('combineRelations', () => {
  it.each<[Relation, Relation, Relation]>([
    ['entail', 'entail', 'entail'],
    ['contra', 'contra', 'contra'],
    ['neutral', 'neutral', 'neutral'],
    ['entail', 'contra', 'neutral'],
    ['entail', 'neutral', 'entail'],
    ['contra', 'neutral', 'contra'],
  ])('%s and %s make %s, whichever way round', (a, b, both) => {
    expect([combineRelations(a, b), combineRelations(b, a)]).toEqual([both, both]);
  });
});

describe('alternativesOf', () => {
  const top = [3, 1, 4, 5].map((id, i) => ({ id, logprob: -1 - i }));

  it('puts the token first and keeps the order of the others', () => {
    expect(alternativesOf(top[2]!, top, 4).map(({ id }) => id)).toEqual([4, 3, 1, 5]);
  });

  it('lets a token from outside take the place of the last', () => {
    expect(alternativesOf({ id: 9, logprob: -8 }, top, 4).map(({ id }) => id)).toEqual([9, 3, 1, 4]);
  });
});

describe('the word of a token', () => {
  it('has no white space and no punctuation around it', () => {
    expect([' six', '\n(No', "don't.", ' +', '≤'].map(wordOf)).toEqual(['six', 'No', "don't", '', '≤']);
  });

  it('is functional where it is empty or a stop word, in any case', () => {
    expect(['', 'The', 'not', 'six', '6'].map(isFunctional)).toEqual([true, true, true, false, false]);
  });
});

it('sums over a run of tokens', () => {
  expect(ccpUncertainty([-0.5, 0, -0.25])).toBe(0.75);
  expect(ccpUncertainty([])).toBe(0);
});
