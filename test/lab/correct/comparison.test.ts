import { describe, expect, it } from 'vitest';
import { compare, type Outcome } from '#lab/correct/comparison.js';
import { ladder, mostCommon, sameBudget } from '#lab/correct/self-consistency.js';

const outcome = (name: string, right: string): Outcome => ({
  name,
  right: [...right].map((letter) => letter === '1'),
  tokens: [...right].map(() => 100),
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

describe('ladder', () => {
  it('votes among more and more answers', () => {
    const rights = ['7', '8'];
    const sampling = (...answers: string[]) =>
      answers.map((answer, i) => ({ answer, right: answer === rights[i], tokens: 10 }));
    const samplings = [sampling('7', '9'), sampling('6', '8'), sampling('6', '8')];
    expect(ladder(0.7, samplings)).toEqual({
      temperature: 0.7,
      rungs: [
        { name: 'no guard, T = 0.7', right: [true, false], tokens: [10, 10], kept: 0, replaced: 0 },
        {
          name: 'no guard, T = 0.7, vote of 2',
          right: [true, false],
          tokens: [20, 20],
          kept: 0,
          replaced: 0,
        },
        {
          name: 'no guard, T = 0.7, vote of 3',
          right: [false, true],
          tokens: [30, 30],
          kept: 0,
          replaced: 0,
        },
      ],
    });
  });
});

describe('sameBudget', () => {
  const way = (name: string, right: string, tokens: number): Outcome => ({
    ...outcome(name, right),
    tokens: [...right].map(() => tokens),
  });
  const rungs = [way('one', '0000', 100), way('two', '0011', 200), way('three', '1111', 300)];
  const budget = (tokens: number) => sameBudget(way('guard', '1000', tokens), { temperature: 1, rungs });

  it('gives one answer more to as many problems as makes the tokens the same', () => {
    expect(budget(250)).toMatchObject({
      name: 'no guard, T = 1, as many tokens',
      right: [true, true, true, true],
      tokens: [300, 300, 200, 200],
    });
    expect(budget(175)).toMatchObject({
      right: [false, false, true, false],
      tokens: [200, 200, 200, 100],
    });
    expect(budget(200)).toMatchObject({ right: rungs[1]!.right });
  });

  it('is the nearest way where there are not so many tokens, or not so few', () => {
    expect(budget(301)).toEqual(rungs[2]);
    expect(budget(99)).toEqual(rungs[0]);
  });
});
