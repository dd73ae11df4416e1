import { describe, expect, it } from 'vitest';
import { claimUncertainty } from '#bench/baselines/claim-graph.js';
import { closenessVectors } from '../../support/bench-vectors.js';

describe('claimUncertainty', () => {
  it.each(closenessVectors)('is minus what networkx gives: $responses responses, $claims claims', (graph) => {
    const { responses, claims, closenessClaims } = graph;
    const all = Array.from({ length: claims }, (_, claim) => claim);
    const edges = graph.edges.map((row) => row.map((edge) => edge === 1));
    const scores = claimUncertainty({ statedBy: all.map(() => 0), edges, scored: all }, responses - 1);
    expect(scores).toEqual(closenessClaims.map((value) => expect.closeTo(-value, 12)));
  });

  // The graph is a path: claim 1, response 0, claim 0, response 1, claim 2; then response 2 with claims 0 and 3.
  const path = {
    statedBy: [0, 0, 1, 2],
    edges: [
      [true, true, false, false],
      [true, false, true, false],
      [true, false, false, true],
    ],
    scored: [1, 0, 1],
  };

  it('is worked out by hand for a path of two responses and three claims', () => {
    // 4 nodes in reach of 4: distances 1, 2, 3, 4 from an end, 1, 1, 2, 2 from the middle.
    expect(claimUncertainty(path, 1)).toEqual([-4 / 10, -4 / 6, -4 / 10].map((x) => expect.closeTo(x, 12)));
  });

  it('has as many nodes as the samples that count make', () => {
    // 6 others: from claim 1 at 1, 2, 3, 3, 4, 4; from claim 0 at 1, 1, 1, 2, 2, 2.
    expect(claimUncertainty(path, 2)).toEqual([-6 / 17, -6 / 9, -6 / 17].map((x) => expect.closeTo(x, 12)));
    expect(() => claimUncertainty(path, 3)).toThrow('the graph of claims has 2 samples, not 3');
  });

  it('is 0 for a claim that no response supports, and higher than for all others', () => {
    expect(claimUncertainty({ statedBy: [0, 0], edges: [[false, true]], scored: [0, 1] }, 0)).toEqual([
      0,
      expect.closeTo(-1 / 2, 12),
    ]);
  });
});
