import { describe, expect, it } from 'vitest';
import { formatRisk, rankWords, riskHeight, riskLevel, riskStrength } from '#client/risk-scale.js';

describe('the scale of risks', () => {
  it('has the same room for each factor of ten beyond a risk', () => {
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

  it.each([
    [0, '0 %'],
    [0.853, '85 %'],
    [0.983, '98.3 %'],
    [0.99932, '99.93 %'],
    [1, '> 99.99 %'],
  ])('writes the risk %f as %s', (risk, text) => {
    expect(formatRisk(risk)).toBe(text);
  });

  it('calls a risk a rank, in words', () => {
    expect(rankWords(0.996, 'token')).toBe('higher than 99.6 % of ordinary tokens');
    expect(rankWords(1, 'step')).toBe('higher than 99.99 % of ordinary steps');
    expect(rankWords(0.95, 'answer')).toBe('higher than 95.0 % of the highest steps of ordinary answers');
  });
});

describe('the line under a step', () => {
  it('has a level for its risk, and one for a flag whatever the risk', () => {
    const levels = [null, 0, 0.5, 0.8, 0.95].map((risk) => riskLevel(risk, false));
    expect(levels).toEqual(['unknown', 'calm', 'slight', 'raised', 'high']);
    expect(riskLevel(0.3, true)).toBe('flagged');
  });
});
