import { describe, expect, it } from 'vitest';
import { cluster } from '#bench/baselines/k-means.js';
import { claimCloseness, clusterCount, graphUncertainty } from '#bench/baselines/response-graph.js';
import { selfConsistency } from '#bench/baselines/self-consistency.js';
import { closenessVectors } from '../../support/bench-vectors.js';

const A = [1, 0, 0];
const B = [0, 1, 0];
const C = [0, 0, 1];
const near = ([x, y, z]: number[], e = 0.01) => [x! + e, y! - e, z!];

describe('claimCloseness', () => {
  it.each(closenessVectors)('is what networkx gives: $responses responses, $claims claims', (graph) => {
    const edges = graph.edges.map((row) => row.map((edge) => edge === 1));
    expect(claimCloseness(edges)).toEqual(graph.closenessClaims.map((value) => expect.closeTo(value, 12)));
  });
});

describe('graphUncertainty', () => {
  it('finds the step that no other response has the least certain', () => {
    const others = [1, 2, 3, 4].map((i) => [near(A, i / 100), near(B, i / 100)]);
    const scores = graphUncertainty([[A, C, B], ...others], { clusterScale: 1.5 });
    expect(scores).toHaveLength(3);
    expect(scores[1]!).toBeGreaterThan(scores[0]!);
    expect(scores[0]).toBe(scores[2]);
  });

  it('gives steps of like meaning the same score, and repeats itself', () => {
    const responses = [
      [A, near(A), B],
      [B, C],
    ];
    const scores = graphUncertainty(responses, { seed: 3 });
    expect(scores[0]).toBe(scores[1]);
    expect(graphUncertainty(responses, { seed: 3 })).toEqual(scores);
  });

  it('holds for a single step that all share, and for no step at all', () => {
    expect(graphUncertainty([[A], [A]])).toEqual([-1]);
    expect(graphUncertainty([[], [A]])).toEqual([]);
  });
});

describe('clusterCount', () => {
  const response = (steps: number) => Array.from({ length: steps }, (_, i) => [i, 0]);

  it('is the mean number of steps, scaled', () => {
    expect(clusterCount([response(4), response(7)])).toBe(6);
    expect(clusterCount([response(4), response(7)], 0.5)).toBe(3);
  });

  it('is at least 2, and at most what differs', () => {
    expect(clusterCount([response(2), response(1)], 0.5)).toBe(2);
    expect(
      clusterCount(
        [
          [A, B],
          [A, B, A],
        ],
        2,
      ),
    ).toBe(2);
    expect(clusterCount([[A], [A]])).toBe(1);
  });
});

it('clusters around the best of several starts', () => {
  const points = [A, B, C].flatMap((centre) => [0, 1, 2, 3].map((i) => near(centre, i / 50)));
  for (const seed of [0, 1, 2, 3, 4]) {
    const clusters = cluster(points, 3, seed);
    expect(new Set(clusters).size).toBe(3);
    expect([0, 4, 8].map((from) => new Set(clusters.slice(from, from + 4)).size)).toEqual([1, 1, 1]);
  }
});

describe('selfConsistency', () => {
  it('is the share of samples that do not agree', () => {
    expect(selfConsistency([true, false, true, true])).toBe(0.25);
    expect(selfConsistency([false])).toBe(1);
  });

  it('refuses to say anything without samples', () => {
    expect(() => selfConsistency([])).toThrow(/at least one sample/);
  });
});
