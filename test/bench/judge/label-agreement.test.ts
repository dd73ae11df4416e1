import { describe, expect, it } from 'vitest';
import { type LabelledCase, labelAgreement } from '#bench/judge/label-agreement.js';

const steps = ['2 + 2 = 4', '4 + 4 = 9', '9 + 1 = 10', 'The answer is 10.'];
const labelled = (label: number, judged: number | null, subset = 'a'): LabelledCase => ({
  id: '',
  subset,
  label,
  judged,
  steps,
});

describe('agreement with labels of people', () => {
  it('is exact or within one step, and a missing label does not agree', () => {
    const cases = [labelled(1, 1), labelled(1, 2), labelled(3, 2), labelled(0, 3), labelled(2, null)];
    const [row] = labelAgreement('rollouts', cases);
    expect(row).toMatchObject({ scope: 'all', by: 'rollouts', n: 5, earlier: 1, later: 2, none: 1 });
    expect(row!.agrees.value).toBe(1 / 5);
    expect(row!.near.value).toBe(3 / 5);
    // Wilson's interval of 3 in 5, by the formula with z = 1.959964.
    expect(row!.near.interval).toEqual([expect.closeTo(0.2307, 4), expect.closeTo(0.8824, 4)]);
  });

  it('stands beside that of a random step and of the first false equation', () => {
    const [, random, equation] = labelAgreement('rollouts', [labelled(1, 1), labelled(0, 1)]);
    // One of four steps; three of four are near the second step, two near the first one.
    expect(random).toMatchObject({ agrees: { value: 1 / 4, interval: null }, near: { value: (3 + 2) / 8 } });
    expect(random).toMatchObject({ earlier: null, later: null, none: null });
    expect(equation).toMatchObject({ agrees: { value: 1 / 2 }, near: { value: 1 }, later: 1, none: 0 });
  });

  it('is told for each subset', () => {
    const rows = labelAgreement('rollouts', [labelled(1, 1), labelled(0, 1, 'b')]);
    expect(rows.map(({ scope }) => scope)).toEqual([...'all all all a a a b b b'.split(' ')]);
  });
});
