import { DEFAULT_METHODS } from 'flinch-client/protocol';
import { describe, expect, it } from 'vitest';
import { fullScale, strength } from '#web/colour.js';

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

  it.each(DEFAULT_METHODS)('stays pale in an answer without a doubtful token (%s)', (method) => {
    const full = fullScale(method, 1e-6);
    expect(full).toBeGreaterThan(1e-4);
    expect(strength(1e-6, full)).toBeLessThan(0.01);
    expect(fullScale(method, null)).toBe(full);
    expect(fullScale(method, -1)).toBe(full);
  });
});
