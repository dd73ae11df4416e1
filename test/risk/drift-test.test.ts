import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { describe, expect, it } from 'vitest';
import { lowerBound } from '#src/numerics/distribution.js';
import { DriftTest } from '#src/risk/drift-test.js';

/** Of the dashboards' alert. */
const THRESHOLD = 1e6;

describe('DriftTest', () => {
  it('stays low while ranks are uniform', () => {
    const random = uniform(1);
    const crossings = answersUntil(1e3, 200_000, () => random());
    // Once in a thousand answers on average, or less often.
    expect(crossings.length).toBeLessThan(200);
    expect(crossings.length).toBeGreaterThan(20);
  });

  it.each([200, 1000])('stays below the threshold for 20,000 answers of a calibration with %i', (count) => {
    const random = uniform(count);
    const calibration = Float64Array.from({ length: count }, () => random()).sort();
    const rank = () => lowerBound(calibration, random()) / (count + 1);
    expect(answersUntil(THRESHOLD, 20_000, rank)).toEqual([]);
  });

  it.each([
    ['higher', (value: number) => value ** 0.5],
    ['lower', (value: number) => value ** 2],
  ])('finds ranks that are %s within 200 answers', (_, shifted) => {
    const random = uniform(3);
    const [first] = answersUntil(THRESHOLD, 1000, () => shifted(random()));
    expect(first).toBeLessThan(200);
  });

  it('returns within a hundred answers that fit, however long they did not', () => {
    const test = new DriftTest();
    for (let i = 0; i < 100_000; i++) test.observe(1);
    const random = uniform(4);
    for (let i = 0; i < 150; i++) test.observe(random());
    expect(test.value).toBeLessThan(THRESHOLD);
  });
});

/** After how many answers the value exceeds a threshold, each time from the start. */
function answersUntil(threshold: number, answers: number, rank: () => number): number[] {
  const crossings: number[] = [];
  let test = new DriftTest();
  for (let i = 1, begun = 0; i <= answers; i++) {
    test.observe(rank());
    if (test.value <= threshold) continue;
    crossings.push(i - begun);
    begun = i;
    test = new DriftTest();
  }
  return crossings;
}

function uniform(seed: number): () => number {
  const generator = mersenne(seed);
  return () => uniformFloat64(generator);
}
