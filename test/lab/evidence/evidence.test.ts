import { describe, expect, it } from 'vitest';
import type { Answer, AnswerSet } from '#lab/evidence/answer-set.js';
import { choose, nameOf } from '#lab/evidence/choose-score.js';
import { evaluate } from '#lab/evidence/evaluate-evidence.js';
import { CHANGES, stepScores, stepsOf } from '#lab/evidence/step-scores.js';
import { evidenceOf } from '#lab/evidence/tables.js';
import { tableCells } from '../../support/markup.js';

const answer = (id: string, ends: number[], entropy: number[], others: Partial<Answer> = {}): Answer => ({
  ...{ id, wrong: false, ends, content: '0'.repeat(entropy.length) },
  scores: { entropy, nll: entropy.map(() => 1) },
  ...others,
});
const change = (kind: keyof typeof CHANGES, name: string) => CHANGES[kind].find((one) => one.name === name)!;

describe('scores of steps', () => {
  const set: AnswerSet = {
    name: 'two',
    answers: [answer('a', [2, 5], [1, 2, 3, 4, 5], { wrong: true, content: '01001' }), answer('b', [1], [7])],
  };
  const scores = (...changes: Parameters<typeof stepScores>[2][]) =>
    stepScores(set, 'entropy', changes.flat() as never);

  it('are sums, weighted by place, content and length', () => {
    expect(stepsOf(set).map(({ wrong }) => wrong)).toEqual([false, true, false]);
    expect(scores()).toEqual([3, 12, 7]);
    expect(scores([change('first', 'first step × 0.5')])).toEqual([1.5, 12, 3.5]);
    expect(scores([change('beginning', 'without the first 2 tokens')])).toEqual([0, 12, 0]);
    expect(scores([change('heads', 'first 1 tokens of a step × 0.5')])).toEqual([2.5, 10.5, 3.5]);
    expect(scores([change('content', 'numbers × 3')])).toEqual([7, 22, 7]);
    expect(scores([change('place', '× step^0.5')])[1]).toBeCloseTo(12 * Math.SQRT2);
    expect(scores([change('place', '× (1 + token/32)^0.5')])[1]).toBeCloseTo(12 * Math.sqrt(1 + 2 / 32));
    expect(scores([change('length', '/ tokens^0.5')])[1]).toBeCloseTo(12 / Math.sqrt(3));
  });

  it('are ranked among steps of other parts, first ones apart', () => {
    const answers = Array.from({ length: 10 }, (_, i) => answer(`${i}`, [1, 2], [100 + i, i]));
    const ranks = stepScores({ name: 'ten', answers }, 'entropy', CHANGES.rank);
    // Part 0 has answers 0 and 5; four of the eight others score less than 5.
    expect(ranks.slice(10, 12)).toEqual([4 / 9, 4 / 9]);
  });
});

/** Every second answer has a wrong last step, of these scores, and a first step of i. */
function setOf(name: string, wrong: (i: number) => number, content = '00'): AnswerSet {
  const answers = Array.from({ length: 60 }, (_, i) =>
    i % 2 === 0 ? answer(`${i}`, [1, 2], [i, wrong(i)], { wrong: true, content }) : answer(`${i}`, [1], [i]),
  );
  return { name, answers };
}

describe('the rule', () => {
  it('takes the plainest of the ways that are as good', () => {
    const { chosen } = choose([setOf('clear', () => 1000)], ['entropy', 'nll']);
    expect(nameOf(chosen)).toBe('entropy');
  });

  it('finds out that numbers tell more', () => {
    const { chosen } = choose([setOf('numbers', (i) => i / 2 + 10, '01')], ['entropy']);
    expect(chosen.changes.length).toBeGreaterThan(0);
  });
});

describe('the tables', () => {
  it('find what the threshold of other answers finds', () => {
    const set = setOf('half', (i) => (i % 4 === 0 ? 1000 : -1));
    const found = evaluate(stepsOf(set), new Map([['entropy', stepScores(set, 'entropy')]])).get('entropy')!;
    expect(found.recall.value).toBeCloseTo(0.5);
    expect(found.falseAlarms.value).toBeCloseTo(0.05, 1);
    expect(found.auroc.value).toBeCloseTo(0.5, 1);
  });

  it('choose on the sets that are not to test on', () => {
    const sets = [setOf('one', () => 1000), setOf('two', (i) => -i)];
    const { chosen, tables } = evidenceOf(sets, new Map([['test', ['two']]]));
    expect(chosen).toBe('entropy');
    expect([...tables.keys()]).toEqual(['choice', 'test']);
    const rows = new Map(tableCells(tables.get('test')!).map(([name, ...cells]) => [name, cells]));
    expect(rows.get('entropy')![1]).toBe('');
    for (const name of ['nll', 'regression', 'length', 'place']) expect(rows.get(name)![0]).toMatch(/^\d/);
    expect(() => evidenceOf(sets, new Map([['test', ['three']]]))).toThrow('there is no set three: one; two');
    expect(() => evidenceOf(sets, new Map([['test', ['one', 'two']]]))).toThrow('there is none to choose on');
  });
});
