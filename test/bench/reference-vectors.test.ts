import { describe, expect, it } from 'vitest';
import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import { chanceToHoldTop, holdsTops, onePercent } from '#bench/steps/token-hits.js';
import { floats, longs, openSession } from '#src/engine/ort-session.js';
import { outputStatistics } from '#src/graphs/statistics-graph.js';
import { tokurStatistics } from '#src/graphs/tokur-statistics.js';
import { logSoftmax } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';
import { referenceVectors } from '../support/bench-vectors.js';

async function run(g: Graph, feeds: Parameters<Awaited<ReturnType<typeof openSession>>['run']>[0]) {
  const session = await openSession(g, { threads: 1 });
  const result = await session.run(feeds);
  return (name: string) => Number(result[name]!.data[0]);
}

/** CCP, TokenSAR and closeness have theirs beside the methods. */
describe('the reference vectors', () => {
  it('hold for NLL, entropy and margin', async () => {
    const { logits, chosen, nll, entropy, margin } = referenceVectors.token;
    const g = new Graph();
    outputStatistics(g, {
      logits: g.input('logits', 'float32', ['scored', logits.length]),
      targets: g.input('targets', 'int64', ['scored']),
      top: 2,
    });
    const dims = [1, logits.length];
    const read = await run(g, {
      logits: floats(Float32Array.from(logits), dims),
      targets: longs([chosen], [1]),
    });
    expect(-read('logprob')).toBeCloseTo(nll, 6);
    expect(read('entropy')).toBeCloseTo(entropy, 6);
    expect(read('margin')).toBeCloseTo(margin, 6);
  });

  it('hold for TokUR', async () => {
    const { logits_samples: samples, TU, AU, EU } = referenceVectors.tokur;
    const g = new Graph();
    const vocab = samples[0]!.length;
    const input = g.input('logits', 'float32', ['samples', 'scored', vocab]);
    g.outputAll({ ...tokurStatistics(g, logSoftmax(g, input)) });
    const dims = [samples.length, 1, vocab];
    const read = await run(g, { logits: floats(Float32Array.from(samples.flat()), dims) });
    expect(read('tu')).toBeCloseTo(TU, 6);
    expect(read('au')).toBeCloseTo(AU, 6);
    expect(read('eu')).toBeCloseTo(EU, 6);
  });

  it('hold for AUROC and average precision', () => {
    const { y, s, auroc: area, ap } = referenceVectors.classification;
    const ranking = rank(
      s,
      y.map((label) => label === 1),
    );
    expect(areas(ranking)).toEqual({
      auroc: expect.closeTo(area, 12),
      averagePrecision: expect.closeTo(ap, 12),
    });
  });

  it('hold for hits, ties included, and for chance', () => {
    const { scores, span, hit_k1_with_ties: tied, hit_k3: three } = referenceVectors.topk;
    const step = { start: span[0]!, end: span.at(-1)! };
    expect(holdsTops(scores, step, [1])).toEqual([tied]);
    expect(holdsTops(scores, step, [3])).toEqual([three]);
    const { n, w, k, p_hit_random: chance } = referenceVectors.random_hit;
    expect(chanceToHoldTop(n, w, k)).toBeCloseTo(chance, 12);
  });

  it('hold for one token in a hundred, however it is rounded', () => {
    for (const [tokens, { ceil, floor, round_half_up: round }] of Object.entries(
      referenceVectors.one_percent_k,
    )) {
      expect(onePercent(Number(tokens))).toEqual({ ceil, floor, round });
    }
    // 0.01 · 700 is more than 7 in floating point.
    expect(onePercent(700)).toEqual({ ceil: 7, floor: 7, round: 7 });
  });
});
