import { describe, expect, it } from 'vitest';
import type { RopeScaling } from '#src/checkpoint/rope-config.js';
import { RotaryEmbedding } from '#src/graphs/rope.js';

const anglesAt = (position: number, dimensions: number, scaling: RopeScaling | null): number[] => {
  const { cos, sin } = new RotaryEmbedding({ theta: 10000, dimensions, scaling }).angles([position]);
  return Array.from(cos, (value, i) => Math.atan2(sin[i]!, value));
};

describe('RotaryEmbedding', () => {
  it('turns pair i by position · θ^(−2i/d)', () => {
    const expected = [1, 0.1, 0.01, 0.001].map((frequency) => 3 * frequency);
    expect(anglesAt(3, 8, null).map((angle) => angle.toFixed(5))).toEqual(
      expected.map((angle) => angle.toFixed(5)),
    );
  });

  it('stays exact far into a text', () => {
    const { cos } = new RotaryEmbedding({ theta: 10000, dimensions: 2, scaling: null }).angles([100_003]);
    expect(cos[0]).toBe(Math.fround(Math.cos(100_003)));
  });

  it('divides all frequencies under linear scaling', () => {
    const plain = anglesAt(1, 8, null);
    const scaled = anglesAt(1, 8, { type: 'linear', factor: 4 });
    scaled.forEach((angle, i) => {
      expect(angle).toBeCloseTo(plain[i]! / 4, 6);
    });
  });

  it('under llama3 scaling keeps short wavelengths, divides long ones, and passes smoothly between', () => {
    const scaling: RopeScaling = {
      type: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalMaxPositions: 64,
    };
    const [plain, scaled] = [anglesAt(1, 8, null), anglesAt(1, 8, scaling)];
    // Wavelengths in the original 64 positions: 10.2, 1.02, 0.10 and 0.01.
    const ratios = scaled.map((angle, i) => angle / plain[i]!);
    expect(ratios[0]).toBeCloseTo(1, 5);
    expect(ratios[1]).toBeCloseTo(1 / 8 + (7 / 8) * ((6.4 / (2 * Math.PI) - 1) / 3), 4);
    expect(ratios[2]).toBeCloseTo(1 / 8, 5);
    expect(ratios[3]).toBeCloseTo(1 / 8, 5);
  });
});
