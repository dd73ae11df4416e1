import { describe, expect, it } from 'vitest';
import { compare } from '#lab/escalate-steps/comparison.js';
import type { Run, Way } from '#lab/escalate-steps/run.js';

const result = (way: Way, id: string, right: boolean, large: number, scores: readonly number[] = []) => ({
  ...{ id, way, right, small: way === 'large' ? 0 : 10, large, escalated: large > 0 ? 1 : 0, text: '' },
  steps: scores.map((score, i) => ({ at: i, from: i, to: i + 1, score })),
});

/** The small model is right at the first 6 of 10, the large one at all; steps are as good as it for a fifth of its tokens. */
const cases: Run['cases'] = Array.from({ length: 10 }, (_, i) => {
  const id = String(i);
  return {
    small: result('small', id, i < 6, 0, [1, i]),
    large: result('large', id, true, 100),
    steps: result('steps', id, true, 20),
    random: result('random', id, i < 7, 20),
    rest: result('rest', id, i < 6, 0),
  };
});

describe('compare', () => {
  const rows = new Map(compare(cases).map((row) => [row.way, row]));

  it('says what each way makes up, and for how much', () => {
    expect(rows.get('small')).toMatchObject({ right: { value: 0.6 }, small: 10, large: 0, closed: 0 });
    expect(rows.get('large')).toMatchObject({ right: { value: 1 }, small: 0, large: 100, closed: 1 });
    expect(rows.get('steps')).toMatchObject({ large: 20, escalated: 1, closed: 1 });
    expect(rows.get('small')?.overAnswers).toBeNull();
  });

  it('compares steps with whole answers for as many tokens, and with random steps', () => {
    const { overAnswers, overRandomAnswers, overRandomSteps } = rows.get('steps')!;
    // For 20 of 100 tokens two answers are handed on: the two with the highest scores, or a fifth of the difference.
    expect(overAnswers?.value).toBeCloseTo(0.2);
    expect(overRandomAnswers?.value).toBeCloseTo(1 - (0.6 + 0.2 * 0.4));
    expect(overRandomSteps?.value).toBeCloseTo(0.3);
    expect(overRandomSteps?.interval?.[0]).toBeGreaterThan(-0.001);
    expect(rows.get('random')?.overRandomSteps).toBeNull();
  });

  it('gives a way that hands nothing on what the small model has', () => {
    expect(rows.get('rest')?.overAnswers?.value).toBeCloseTo(0);
  });

  it('refuses to compare nothing', () => {
    expect(() => compare([])).toThrow('no question');
  });
});
