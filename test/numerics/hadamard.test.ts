import { describe, expect, it } from 'vitest';
import { hadamard, rotate, rotationOf } from '#src/numerics/hadamard.js';
import { largestDifference } from '../support/golden.js';

const values = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(1 + 7 * i));

describe('rotate', () => {
  it('multiplies each block by the matrix, which is its own inverse', () => {
    const [size, rotated] = [16, values(48)];
    rotate(rotated, size);
    const matrix = hadamard(size);
    const expected = Array.from({ length: 48 }, (_, i) => {
      const block = i - (i % size);
      return values(48)
        .subarray(block, block + size)
        .reduce((sum, value, k) => sum + value * matrix[k * size + (i % size)]!, 0);
    });
    expect(largestDifference([...rotated], expected)).toBeLessThan(1e-6);
    rotate(rotated, size);
    expect(largestDifference([...rotated], [...values(48)])).toBeLessThan(1e-6);
  });

  it('spreads an outlier over its block', () => {
    const row = new Float32Array(128);
    row[5] = 8;
    rotate(row, 64);
    expect(row.subarray(0, 64).map(Math.abs)).toEqual(new Float32Array(64).fill(1));
    expect(row.subarray(64)).toEqual(new Float32Array(64));
  });
});

it.each([
  [896, 128],
  [48, 16],
  [36, 4],
  [7, 1],
])('rows of %i numbers are rotated in blocks of %i', (width, size) => {
  expect(rotationOf(width)).toBe(size);
});
