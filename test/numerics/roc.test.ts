import { describe, expect, it } from 'vitest';
import { auroc, aurocDifference } from '#src/numerics/roc.js';

// Ten examples by two detectors.
const a = { positive: [0.9, 0.8, 0.7, 0.55, 0.35], negative: [0.6, 0.5, 0.4, 0.3, 0.2] };
const b = { positive: [0.7, 0.9, 0.4, 0.6, 0.3], negative: [0.5, 0.65, 0.45, 0.2, 0.1] };

describe('the area under the ROC curve', () => {
  it('is the share of pairs in order, ties counting half', () => {
    expect(auroc(a).value).toBeCloseTo(21 / 25);
    expect(auroc({ positive: [1, 1], negative: [1, 1] }).value).toBe(0.5);
    expect(auroc({ positive: [2, 3], negative: [0, 1] })).toEqual({ value: 1, low: 1, high: 1 });
  });

  it("has DeLong's variance", () => {
    // Shares of negatives below each positive: 1, 1, 1, 0.8, 0.4; of positives above each negative: 0.6, 0.8, 0.8, 1, 1.
    const variance = 0.068 / 5 + 0.028 / 5;
    const { low, high } = auroc(a);
    expect(low).toBeCloseTo(0.84 - 1.959964 * Math.sqrt(variance));
    expect(high).toBe(1);
  });

  it('is compared on the same examples', () => {
    const { value, low, high } = aurocDifference(a, b);
    expect(value).toBeCloseTo(auroc(a).value - auroc(b).value);
    expect(high - value).toBeCloseTo(value - low);
    expect(aurocDifference(a, a)).toEqual({ value: 0, low: 0, high: 0 });
  });
});
