import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { describe, expect, it } from 'vitest';
import { type Labelled, trainProbe } from '#lab/evidence/linear-probe.js';

const DIMENSIONS = 20;

/** The first feature tells the label, with this weight; the others are noise. One group for two examples. */
function examples(count: number, weight: number, seed: number): Labelled[] {
  const generator = mersenne(seed);
  const uniform = () => uniformFloat64(generator);
  return Array.from({ length: count }, (_, i) => {
    const features = Array.from({ length: DIMENSIONS }, () => 4 * uniform() - 2);
    const positive = uniform() < 1 / (1 + Math.exp(1 - weight * features[0]!));
    return { features, positive, group: i >> 1 };
  });
}

const unit = (d: number) => Array.from({ length: DIMENSIONS }, (_, i) => Number(i === d));

describe('trainProbe', () => {
  it('finds weights and intercept', () => {
    const probe = trainProbe(examples(5000, 2, 1));
    const origin = probe(unit(-1));
    expect(Math.abs(origin + 1)).toBeLessThan(0.15);
    expect(probe(unit(0)) - origin).toBeGreaterThan(1.8);
    expect(probe(unit(0)) - origin).toBeLessThan(2.2);
    for (let d = 1; d < DIMENSIONS; d++) expect(Math.abs(probe(unit(d)) - origin)).toBeLessThan(0.2);
  });

  it('trusts few noisy examples little', () => {
    const probe = trainProbe(examples(100, 0, 2));
    const weights = Array.from({ length: DIMENSIONS }, (_, d) => Math.abs(probe(unit(d)) - probe(unit(-1))));
    expect(Math.max(...weights)).toBeLessThan(0.1);
  });

  it('does not fail on features without variance, nor on labels that a plane divides', () => {
    const divided = examples(200, 0, 3).map((example) => ({
      ...example,
      features: [...example.features, 7],
      positive: example.features[0]! > 0,
    }));
    const probe = trainProbe(divided);
    const wrong = divided.filter(({ features, positive }) => probe(features) > 0 !== positive);
    expect(wrong.length).toBeLessThan(10);
  });

  it('refuses labels of one kind', () => {
    const same = examples(50, 1, 4).map((example) => ({ ...example, positive: true }));
    expect(() => trainProbe(same)).toThrow('a probe needs positive and negative examples');
  });
});
