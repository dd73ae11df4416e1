import { describe, expect, it } from 'vitest';
import { measureLabel } from '#bench/report/measure-label.js';

describe('measureLabel', () => {
  it.each([
    ['adversarial', 'Adv. Pert.'],
    ['adversarial:block=8,window=all', 'Adv. Pert. (block 8, window all)'],
    ['adversarial:alpha=0.000001', 'Adv. Pert. (α=1e-6)'],
    ['adversarial:alpha=0.01rms', 'Adv. Pert. (α=0.01rms)'],
    ['random:samples=40,sigma=0.01', 'Rand. Pert. (l=40, σ=0.01)'],
  ])('says %s as a person reads it', (name, label) => {
    expect(measureLabel(name)).toBe(label);
  });
});
