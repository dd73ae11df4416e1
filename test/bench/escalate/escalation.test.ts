import { describe, expect, it } from 'vitest';
import { ANSWER_LENGTH, answerScores, type EscalationCase, escalations } from '#bench/escalate/escalation.js';

const one = (id: number, small: boolean, large: boolean, score: number): EscalationCase => ({
  id: String(id),
  scores: new Map([
    ['sure', score],
    ['useless', 0],
    [ANSWER_LENGTH, 0],
  ]),
  small: { right: small, tokens: 10 },
  large: { right: large, tokens: 30 },
});

/** The small model is wrong at 4 of 10, where the large one is right at 3. The score knows. */
const cases = [
  ...Array.from({ length: 6 }, (_, i) => one(i, true, i < 5, i)),
  ...Array.from({ length: 4 }, (_, i) => one(6 + i, false, i < 3, 10 + i)),
];
const prices = { small: 1, large: 3 };

describe('escalations', () => {
  it('hands on what has the highest scores, and compares it with as many at random', () => {
    const table = escalations(cases, { shares: [0.4, 0.5], prices, resamples: 200 });
    expect(table).toMatchObject({ questions: 10, smallTokens: 100, largeTokens: 300 });
    expect([table.small.value, table.large.value]).toEqual([0.6, 0.8]);
    const [sure] = table.ways;
    expect(sure?.by).toBe('sure');
    expect(sure?.auroc.value).toBe(1);
    const [at40, at50] = sure?.points ?? [];
    // All four wrong ones are handed on, and three of them become right.
    expect(at40?.accuracy.value).toBeCloseTo(0.9);
    expect(at40?.gain.value).toBeCloseTo(0.9 - (0.6 * 0.6 + 0.4 * 0.8));
    expect(at40?.overLength.value).toBeCloseTo(at40?.gain.value ?? 0);
    expect(at40?.closed).toBeCloseTo(1.5);
    expect(at40?.cost).toBeCloseTo((100 * 1 + 4 * 30 * 3) / (300 * 3));
    // For 460 of 900, the large model is asked at once about 45 % of the questions: 0.45 * 90 + 0.55 * 10 = 46.
    expect(at40?.overMixing.value).toBeCloseTo(0.9 - (0.55 * 0.6 + 0.45 * 0.8));
    // It makes up more than all of the difference, which no random questions do.
    expect(at40?.paysFrom).toBe(0);
    // One more is handed on, of the right ones with the highest score, which the large model gets wrong.
    expect(at50?.accuracy.value).toBeCloseTo(0.8);
    // It makes up the difference for half of the large model's answers, which three of the small one's are as long as.
    expect(at50?.paysFrom).toBeCloseTo(1 / 3 / 0.5);
    expect(at40?.gain.interval?.[0]).toBeLessThan(at40?.gain.value ?? 0);
  });

  it('takes a part of the last question where the share is none of whole ones', () => {
    const [sure] = escalations(cases, { shares: [0.05], prices, resamples: 10 }).ways;
    // Half of the question with the highest score, which neither model gets right.
    expect(sure?.points[0]?.accuracy.value).toBeCloseTo(0.6);
  });

  it('gives a score that says nothing no advantage in telling answers apart', () => {
    const { ways } = escalations(cases, { shares: [0.5], prices, resamples: 50 });
    const useless = ways.find(({ by }) => by === 'useless');
    expect(useless?.auroc.value).toBe(0.5);
    expect(useless?.points[0]?.gain.value).toBeCloseTo(0);
    // What the small model takes is spent for nothing, whatever the large one costs.
    expect(useless?.points[0]?.overMixing.value).toBeLessThan(0);
    expect(useless?.points[0]?.paysFrom).toBeNull();
  });

  it('knows no price where the large model is worse', () => {
    const swapped = cases.map((each) => ({ ...each, small: each.large, large: each.small }));
    const [first] = escalations(swapped, { shares: [0.4], prices, resamples: 10 }).ways;
    expect(first?.points[0]?.paysFrom).toBeNull();
  });

  it('refuses to compare nothing', () => {
    expect(() => escalations([], { shares: [0.5], prices })).toThrow('no question');
  });
});

it('scores of an answer are sums, means, and what the guard judges by', () => {
  const record = { tokens: { nll: [1, 2, null, 4, 5] }, response: { other: 7 } };
  const scores = answerScores(record, ['a', 'b', 'c', 'd', ' 7']);
  expect(Object.fromEntries(scores)).toEqual({
    other: 7,
    'nll, sum': 12,
    'nll, mean': 3,
    'nll, verdict': (1 + 2 + 4 + 2 * 5) / Math.sqrt(5),
  });
});
