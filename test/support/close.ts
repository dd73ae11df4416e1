import { expect } from 'vitest';

/**
 * Numbers may differ by what float32 rounds otherwise where a text is read in one run, not token by token: a
 * log-probability by 1e-6, an adversarial score by a tenfold of that.
 */
export function expectClose(actual: unknown, expected: unknown, path = ''): void {
  if (typeof expected === 'number' && typeof actual === 'number') {
    const difference = Math.abs(actual - expected);
    expect(difference, `${path}: ${actual}, ${expected}`).toBeLessThan(
      1e-4 * Math.max(1, Math.abs(expected)),
    );
  } else if (typeof expected === 'object' && expected !== null && typeof actual === 'object' && actual) {
    expect(Object.keys(actual), path).toEqual(Object.keys(expected));
    const of = new Map<string, unknown>(Object.entries(actual));
    for (const [key, value] of Object.entries(expected)) expectClose(of.get(key), value, `${path}.${key}`);
  } else {
    expect(actual, path).toEqual(expected);
  }
}
