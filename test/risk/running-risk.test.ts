import { describe, expect, it } from 'vitest';
import { MIN_ANSWERS, MIN_STEPS, MIN_TOKENS, RunningRisk } from '#src/risk/running-risk.js';

/** Evenly spread over [0, 1), in no order. */
const spread = (i: number): number => (i * 0.6180339887498949) % 1;

describe('RunningRisk', () => {
  it('knows nothing until it has seen 200 tokens, or 50 steps, of a kind', () => {
    const risks = new RunningRisk();
    for (let i = 0; i < MIN_TOKENS; i++) expect(risks.ofToken('nll', spread(i))).toBeNull();
    expect(risks.ofToken('nll', 2)).toBe(200 / 201);
    expect(risks.ofToken('nll', -2)).toBe(0);
    expect(risks.ofToken('entropy', 2)).toBeNull();
    for (let i = 0; i < MIN_STEPS; i++) expect(risks.ofStep('nll', spread(i))).toBeNull();
    expect(risks.ofStep('nll', 0.5)).toBeCloseTo(0.5, 1);
    expect(risks.ofStep('entropy', 0.5)).toBeNull();
    expect(risks.calibrated()).toBe(false);
  });

  it('ranks answers apart from steps', () => {
    const risks = new RunningRisk();
    for (let i = 0; i < MIN_ANSWERS; i++) expect(risks.ofAnswer('nll', spread(i))).toBeNull();
    expect(risks.ofAnswer('nll', 2)).toBe(50 / 51);
    expect(risks.ofAnswer('entropy', 2)).toBeNull();
    expect(risks.ofStep('nll', 2)).toBeNull();
  });

  it('ranks among the last scores only, as counting them does', () => {
    const remembered = 300;
    const risks = new RunningRisk(remembered);
    const seen: number[] = [];
    for (let i = 0; i < 2000; i++) {
      const score = Math.round(50 * (spread(i) + i / 1000)) / 50; // drifts, and has ties
      const recent = seen.slice(-remembered);
      const expected = recent.filter((other) => other < score).length / (recent.length + 1);
      expect(risks.ofToken('nll', score)).toBe(recent.length < MIN_TOKENS ? null : expected);
      seen.push(score);
    }
  });

  it('learns of what was skipped', () => {
    const risks = new RunningRisk();
    for (let i = 0; i < 300; i++)
      risks.ofToken('adversarial', i % 3 === 0 ? spread(i) : Number.NEGATIVE_INFINITY);
    expect(risks.ofToken('adversarial', -1)).toBe(200 / 301);
    expect(risks.ofToken('adversarial', Number.NEGATIVE_INFINITY)).toBe(0);
  });

  it('learns an eighth of what it remembers from one answer, and ranks the rest of it all the same', () => {
    const risks = new RunningRisk();
    for (let i = 0; i < 4096; i++) risks.ofStep('nll', spread(i));
    const answer = risks.ofOneAnswer();
    for (let i = 0; i < 10_000; i++) expect(answer.ofStep('nll', 2)).toBeGreaterThan(0.87);
    expect(risks.ofStep('nll', 1.5)).toBeCloseTo(7 / 8, 3);
    risks.ofOneAnswer().ofStep('nll', 2);
    expect(risks.ofStep('nll', 1.5)).toBeLessThan(7 / 8);
  });

  it('learns nothing from a further answer, which it ranks all the same', () => {
    const risks = new RunningRisk();
    for (let i = 0; i < 100; i++) risks.ofStep('nll', spread(i));
    const further = risks.ofOneAnswer(false);
    for (let i = 0; i < 100; i++) expect(further.ofStep('nll', 2)).toBe(100 / 101);
    expect(risks.ofStep('nll', 1.5)).toBe(100 / 101);
  });
});
