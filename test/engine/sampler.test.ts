import { describe, expect, it } from 'vitest';
import { Sampler, topTokens } from '#src/engine/sampler.js';

const PROBABILITIES = [0.05, 0.5, 0.15, 0.3];
const LOGPROBS = Float32Array.from(PROBABILITIES, Math.log);

function frequencies(temperature: number, topK: number, topP: number): number[] {
  const sampler = new Sampler({ temperature, topK, topP, seed: 42 });
  const counts = PROBABILITIES.map(() => 0);
  const draws = 20_000;
  for (let i = 0; i < draws; i++) counts[sampler.sample(LOGPROBS)]! += 1;
  return counts.map((count) => count / draws);
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  // Five standard deviations of a frequency over 20 000 draws.
  for (const [i, value] of actual.entries()) expect(Math.abs(value - expected[i]!)).toBeLessThan(0.018);
}

describe('Sampler', () => {
  it('is greedy at temperature 0, with the lower id on a tie', () => {
    const sampler = new Sampler({ temperature: 0, topK: 0, topP: 1, seed: 1 });
    expect(sampler.sample(LOGPROBS)).toBe(1);
    expect(sampler.sample(Float32Array.of(-1, -0.5, -0.5))).toBe(1);
  });

  it('draws from the distribution at temperature 1', () => {
    expectClose(frequencies(1, 0, 1), PROBABILITIES);
  });

  it('sharpens it at a lower temperature', () => {
    const powers = PROBABILITIES.map((p) => p ** 2);
    const total = powers.reduce((a, b) => a + b);
    expectClose(
      frequencies(0.5, 0, 1),
      powers.map((p) => p / total),
    );
  });

  it('keeps the k most probable', () => {
    expectClose(frequencies(1, 2, 1), [0, 0.5 / 0.8, 0, 0.3 / 0.8]);
  });

  it('keeps the smallest set that reaches top-p', () => {
    expectClose(frequencies(1, 0, 0.75), [0, 0.5 / 0.8, 0, 0.3 / 0.8]);
    expectClose(frequencies(1, 0, 0.85), [0, 0.5 / 0.95, 0.15 / 0.95, 0.3 / 0.95]);
  });

  it('applies top-p to what top-k left', () => {
    // 0.5 of 0.8 is below 0.7, so both stay; of 0.95 with k = 3 it needs 0.3 too.
    expectClose(frequencies(1, 2, 0.62), [0, 1, 0, 0]);
  });

  it('draws differently from the first token on for neighbouring seeds', () => {
    const flat = new Float32Array(1000).fill(Math.log(1 / 1000));
    const first = (seed: number) => new Sampler({ temperature: 1, topK: 0, topP: 1, seed }).sample(flat);
    expect(new Set(Array.from({ length: 50 }, (_, seed) => first(seed))).size).toBeGreaterThan(40);
    expect(first(3)).toBe(first(3));
  });

  it.each([1, 20, 256, 257, 900])('keeps the %d most probable of a large vocabulary, ties by id', (topK) => {
    // Each log-probability twice.
    const logprobs = Float32Array.from({ length: 1000 }, (_, id) => -8 + 2 * Math.sin(id >> 1));
    const best = [...logprobs.keys()].toSorted((a, b) => logprobs[b]! - logprobs[a]! || a - b);
    const kept = new Set(best.slice(0, topK));
    const sampler = new Sampler({ temperature: 1, topK, topP: 1, seed: 5 });
    const drawn = new Set(Array.from({ length: 4000 }, () => sampler.sample(logprobs)));
    expect([...drawn].filter((id) => !kept.has(id))).toEqual([]);
    expect(drawn.size).toBeGreaterThan(0.5 * topK);
  });

  it('finds the nucleus of a large, flat vocabulary', () => {
    const flat = new Float32Array(50_000).fill(Math.log(0.5 / 50_000));
    flat[7] = Math.log(0.5);
    const sampler = new Sampler({ temperature: 1, topK: 0, topP: 0.4, seed: 3 });
    for (let i = 0; i < 20; i++) expect(sampler.sample(flat)).toBe(7);
  });
});

describe('topTokens', () => {
  it('lists the most probable first, ties by id', () => {
    expect(topTokens(LOGPROBS, 3).map(({ id }) => id)).toEqual([1, 3, 2]);
    expect(topTokens(Float32Array.of(-1, -1, -0.5, -1), 3).map(({ id }) => id)).toEqual([2, 0, 1]);
  });

  it('gives what there is', () => {
    expect(topTokens(LOGPROBS, 0)).toEqual([]);
    expect(topTokens(LOGPROBS, 9)).toHaveLength(4);
  });
});
