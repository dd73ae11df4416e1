import { describe, expect, it } from 'vitest';
import { compare, type Outcome } from '#bench/correct/comparison.js';
import { mostCommon, sameBudget } from '#bench/correct/self-consistency.js';

const outcome = (name: string, right: string): Outcome => ({
  name,
  right: [...right].map((letter) => letter === '1'),
  tokens: 100 * right.length,
  kept: 2,
  replaced: 1,
});

describe('compare', () => {
  it('pairs two ways problem by problem', () => {
    const row = compare(outcome('guard', '1111011111'), [outcome('no guard', '1100011011')]);
    expect(row).toMatchObject({ name: 'guard', tokensPerProblem: 100, accuracy: { value: 0.9 } });
    expect(row.comparisons).toMatchObject([
      // Three against none: 2 · 0.5³.
      {
        with: 'no guard',
        gained: 3,
        lost: 0,
        difference: { value: expect.closeTo(0.3) },
        p: expect.closeTo(0.25),
      },
    ]);
  });
});

describe('mostCommon', () => {
  it.each([
    [['7', '8', '8'], '8'],
    [['7', '8'], '7'],
    [['7', null, null], '7'],
    [[null, '8', '7', '7'], '7'],
    [[null, null], null],
    [[], null],
  ])('of %j is %j', (answers, common) => {
    expect(mostCommon(answers)).toBe(common);
  });
});

describe('sameBudget', () => {
  const way = (name: string, right: string, tokens: number): Outcome => ({ ...outcome(name, right), tokens });
  const none = way('none', '0000', 100);
  const two = way('two answers', '0011', 200);
  const three = way('three answers', '1111', 300);

  it('gives one answer more to as many problems as makes the tokens the same', () => {
    const same = sameBudget(way('guard', '1000', 250), none, [two, three]);
    expect(same).toMatchObject({ right: [true, true, true, true], tokens: 250 });
    expect(sameBudget(way('guard', '1000', 175), none, [two, three])).toMatchObject({
      right: [false, false, true, false],
      tokens: 175,
    });
  });

  it('is none where all samples together took fewer', () => {
    expect(sameBudget(way('guard', '1000', 301), none, [two, three])).toBeNull();
    expect(sameBudget(way('guard', '1000', 150), none, [])).toBeNull();
  });
});
