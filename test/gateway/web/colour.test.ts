import { describe, expect, it } from 'vitest';
import { fullScale, riskHeight, riskLevel, riskStrength, strength } from '#gateway/web/colour.js';
import { USUAL_METHODS } from '#gateway/web/words.js';

describe('the colour of a score', () => {
  it('is full for the strongest score of the answer and in proportion below', () => {
    const full = fullScale('adversarial', 0.02);
    expect(full).toBe(0.02);
    expect(strength(0.02, full)).toBe(1);
    expect(strength(0.005, full)).toBeCloseTo(0.25);
  });

  it('is none for a negative score', () => {
    expect(strength(-0.004, 0.02)).toBe(0);
  });

  it.each(USUAL_METHODS)('stays pale in an answer without a doubtful token (%s)', (method) => {
    const full = fullScale(method, 1e-6);
    expect(full).toBeGreaterThan(1e-4);
    expect(strength(1e-6, full)).toBeLessThan(0.01);
    expect(fullScale(method, null)).toBe(full);
    expect(fullScale(method, -1)).toBe(full);
  });
});

describe('the colour of a risk', () => {
  it('has the same room for each factor of ten beyond it', () => {
    expect([0, 0.9, 0.99, 0.999].map((risk) => Number(riskHeight(risk).toFixed(6)))).toEqual([
      0, 0.333333, 0.666667, 1,
    ]);
    expect(riskHeight(1)).toBe(1);
  });

  it('is full at the threshold, and pale for half of all tokens', () => {
    expect(riskStrength(0.98, 0.02)).toBe(1);
    expect(riskStrength(1, 0.02)).toBe(1);
    expect(riskStrength(0.5, 0.02)).toBeLessThan(0.05);
    expect(riskStrength(0, 0.02)).toBe(0);
  });

  it('stays a measure where the threshold is none', () => {
    expect(riskStrength(0.1, 0.99)).toBeLessThan(0.01);
  });
});

describe('the line under a step', () => {
  it('has a level for its risk, and one for a flag whatever the risk', () => {
    const levels = [null, 0, 0.5, 0.8, 0.95].map((risk) => riskLevel(risk, false));
    expect(levels).toEqual(['unknown', 'calm', 'slight', 'raised', 'high']);
    expect(riskLevel(0.3, true)).toBe('flagged');
  });
});
