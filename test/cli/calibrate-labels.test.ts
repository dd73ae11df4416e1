import { describe, expect, it } from 'vitest';
import { joinLabels } from '#cli/calibrate/calibrate-labels.js';
import { checkLabels, type LabelledAnswer } from '#src/risk/label-check.js';

describe('labels that are of no use', () => {
  const verdict = { flagged: false, risk: 0.1 };
  const messages = [
    ...['a', 'b', 'c'].map((id) => ({ type: 'verdict' as const, data: { response_id: id, verdict } })),
    { type: 'verdict' as const, data: { response_id: 'd', verdict: null } },
    { type: 'flag' as const },
  ];
  const label = (id: string, right: boolean) => ({ id, label: right });

  it('are named: unknown answers, contradictions; what is said twice counts once', () => {
    const labels = [
      ...[label('a', true), label('a', true)],
      ...[label('b', true), label('b', false), label('b', false)],
      ...[label('x', true), label('x', false)],
      ...[label('c', false), label('d', true)],
    ];
    expect(joinLabels(labels, messages)).toEqual({
      labelled: [
        { right: true, ...verdict },
        { right: false, ...verdict },
        { right: true, flagged: null, risk: null },
      ],
      problems: { unknown: ['x'], contradicting: ['b'], duplicates: 2 },
    });
  });
});

describe('verdicts beside labels', () => {
  const answers = (count: number, answer: LabelledAnswer) => Array.from({ length: count }, () => answer);

  it('have shares as they were, and for other rates; what is unscored is in none', () => {
    const check = checkLabels([
      ...answers(6, { right: false, flagged: true, risk: 0.97 }),
      ...answers(4, { right: false, flagged: false, risk: 0.85 }),
      ...answers(1, { right: true, flagged: true, risk: 0.96 }),
      ...answers(19, { right: true, flagged: false, risk: 0.3 }),
      ...answers(2, { right: false, flagged: null, risk: null }),
      ...answers(3, { right: true, flagged: null, risk: 0.99 }),
    ]);
    expect(check).toMatchObject({ right: 23, wrong: 12, unscored: { right: 3, wrong: 2 } });
    const shares = check.rows.map(({ rate, found, falseAlarms, precision }) => [
      rate,
      ...[found, falseAlarms, precision].map(({ count, of }) => `${count}/${of}`),
    ]);
    expect(shares).toEqual([
      [null, '6/10', '1/20', '6/7'],
      [0.01, '0/10', '0/20', '0/0'],
      [0.02, '0/10', '0/20', '0/0'],
      [0.05, '6/10', '1/20', '6/7'],
      [0.1, '6/10', '1/20', '6/7'],
      [0.2, '10/10', '1/20', '10/11'],
    ]);
    // Wilson's interval of 6 of 10, from tables.
    expect(check.rows[0]?.found.low).toBeCloseTo(0.3127, 4);
    expect(check.rows[0]?.found.high).toBeCloseTo(0.8318, 4);
  });

  it('of an answer that was stopped without a risk count as they were alone', () => {
    const { rows } = checkLabels([{ right: false, flagged: true, risk: null }]);
    expect(rows.map(({ found }) => found.of)).toEqual([1, 0, 0, 0, 0, 0]);
  });
});
