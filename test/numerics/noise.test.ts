import { describe, expect, it } from 'vitest';
import { type NoiseCoordinates, standardNormals } from '#src/numerics/noise.js';

const HERE: Required<NoiseCoordinates> = { seed: 7, replica: 2, position: 40, tag: 5 };

/** Σ xᵏ / n */
const moment = (x: Float32Array, k: number) => x.reduce((sum, value) => sum + value ** k, 0) / x.length;
const correlation = (a: Float32Array, b: Float32Array) =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0) / a.length;
/** How far from zero the mean of n terms of variance 1 may lie: five standard deviations. */
const bound = (n: number) => 5 / Math.sqrt(n);

/** The first number of `count` neighbours along one coordinate. */
const firstAlong = (axis: keyof NoiseCoordinates, count: number) =>
  Float32Array.from({ length: count }, (_, i) => standardNormals({ ...HERE, [axis]: i }, 1)[0]!);

describe('standardNormals', () => {
  it('depends on the coordinates alone', () => {
    const before = standardNormals(HERE, 33);
    standardNormals({ ...HERE, position: 41 }, 100);
    expect(standardNormals(HERE, 33)).toEqual(before);
    expect(standardNormals(HERE, 8)).toEqual(before.subarray(0, 8));
    expect(standardNormals({ seed: 7, replica: 2, position: 40 }, 8)).toEqual(
      standardNormals({ ...HERE, tag: 0 }, 8),
    );
  });

  // Scores can be reproduced only while these stay.
  it('draws the same numbers in every version', () => {
    const numbers = Array.from(standardNormals({ seed: 1, replica: 0, position: 0 }, 4));
    PINNED.forEach((value, i) => {
      expect(numbers[i]).toBeCloseTo(value, 6);
    });
  });

  it('follows the normal distribution', () => {
    const n = 2_000_000;
    const x = standardNormals(HERE, n);
    expect(Math.abs(moment(x, 1))).toBeLessThan(bound(n));
    expect(Math.abs(moment(x, 2) - 1)).toBeLessThan(bound(n) * Math.sqrt(2));
    expect(Math.abs(moment(x, 3))).toBeLessThan(bound(n) * Math.sqrt(15));
    expect(Math.abs(moment(x, 4) - 3)).toBeLessThan(bound(n) * Math.sqrt(96));
    // Two-sided tails of N(0, 1).
    for (const [limit, probability] of [
      [1, 0.3173105],
      [2, 0.0455003],
      [3, 2.699796e-3],
      [4, 6.334248e-5],
    ] as const) {
      const beyond = x.filter((value) => Math.abs(value) > limit).length / n;
      expect(Math.abs(beyond - probability)).toBeLessThan(bound(n) * Math.sqrt(probability));
    }
  });

  it('is uncorrelated within one stream', () => {
    const n = 200_000;
    const x = standardNormals(HERE, n + 3);
    for (const lag of [1, 2, 3]) {
      expect(Math.abs(correlation(x.subarray(0, n), x.subarray(lag, lag + n)))).toBeLessThan(bound(n));
    }
  });

  it.each(['seed', 'replica', 'position', 'tag'] as const)('is independent along %s', (axis) => {
    const n = 50_000;
    const first = firstAlong(axis, n + 2);
    expect(Math.abs(moment(first, 1))).toBeLessThan(bound(n));
    expect(Math.abs(moment(first, 2) - 1)).toBeLessThan(bound(n) * Math.sqrt(2));
    for (const lag of [1, 2]) {
      const [a, b] = [first.subarray(0, n), first.subarray(lag, lag + n)];
      expect(Math.abs(correlation(a, b))).toBeLessThan(bound(n));
      const squares = (x: Float32Array) => x.map((value) => (value * value - 1) / Math.SQRT2);
      expect(Math.abs(correlation(squares(a), squares(b)))).toBeLessThan(bound(n));
    }
  });

  it('tells coordinates apart that share a sum, an order or a sign', () => {
    const places = [
      { seed: 1, replica: 2, position: 3 },
      { seed: 1, replica: 3, position: 2 },
      { seed: 2, replica: 1, position: 3 },
      { seed: -1, replica: 2, position: 3 },
      { seed: 0, replica: 0, position: 0 },
      { seed: 0, replica: 0, position: 1 },
      { seed: 0, replica: 0, position: 0, tag: 1 },
    ];
    const n = 10_000;
    const streams = places.map((place) => standardNormals(place, n));
    streams.forEach((a, i) => {
      for (const b of streams.slice(i + 1)) expect(Math.abs(correlation(a, b))).toBeLessThan(bound(n));
    });
  });
});

const PINNED = [0.2043979, -0.635383, -0.7125999, 2.0755939];
