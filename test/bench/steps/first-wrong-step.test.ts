import { describe, expect, it } from 'vitest';
import { firstWrongStep } from '#bench/steps/first-wrong-step.js';

const steps = [
  [0, 10],
  [10, 20],
  [21, 40],
] as const;

describe('firstWrongStep', () => {
  it('is the step that the span overlaps most, the earliest of equals', () => {
    expect(firstWrongStep([11, 19], steps)).toBe(1);
    expect(firstWrongStep([8, 19], steps)).toBe(1);
    expect(firstWrongStep([2, 12], steps)).toBe(0);
    expect(firstWrongStep([5, 15], steps)).toBe(0);
    expect(firstWrongStep([0, 40], steps)).toBe(2);
  });

  it('is none where nothing is wrong, or nothing was written', () => {
    expect(firstWrongStep(null, steps)).toBeNull();
    expect(firstWrongStep([0, 0], [])).toBeNull();
  });

  it('is the step before, for a line that is in none', () => {
    expect(firstWrongStep([40, 43], steps)).toBe(2);
    expect(firstWrongStep([20, 21], steps)).toBe(1);
    expect(firstWrongStep([0, 2], [[3, 9]])).toBe(0);
    const apart = [
      [0, 10],
      [21, 40],
    ] as const;
    expect(firstWrongStep([15, 21], apart)).toBe(0);
  });
});
