import { describe, expect, it } from 'vitest';
import { growthOf, type MemorySample } from '#lab/soak/growth.js';

/** A sample every ten seconds. */
const samples = (minutes: number, bytes: (seconds: number) => number | null): MemorySample[] =>
  Array.from({ length: 6 * minutes }, (_, i) => {
    const seconds = 10 * (i + 1);
    return { seconds, decode: bytes(seconds), score: 0, parent: 0 };
  });

describe('growth of memory', () => {
  it('leaves the warm-up out', () => {
    const warming = samples(30, (seconds) => (seconds < 300 ? seconds * 1e6 : 300e6));
    expect(growthOf(warming, 'decode', 300)).toEqual({ before: 300e6, after: 300e6, bytesPerHour: 0 });
  });

  it('sees a leak through the ups and downs of the load', () => {
    const leaking = samples(30, (seconds) => 100e6 + 1000 * seconds + (seconds % 20 === 0 ? 40e6 : 0));
    const { before, after, bytesPerHour } = growthOf(leaking, 'decode', 300)!;
    expect(after - before).toBeGreaterThan(1.3e6);
    expect(after - before).toBeLessThan(1.6e6);
    expect(bytesPerHour).toBeGreaterThan(2.5e6);
    expect(bytesPerHour).toBeLessThan(4.5e6);
  });

  it('is not known from one sample, or of a process that nobody could look at', () => {
    expect(growthOf(samples(1, () => 1).slice(0, 1), 'decode', 0)).toBeNull();
    expect(
      growthOf(
        samples(5, () => null),
        'decode',
        0,
      ),
    ).toBeNull();
  });
});
