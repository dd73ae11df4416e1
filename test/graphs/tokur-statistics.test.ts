import { describe, expect, it } from 'vitest';
import { floats, openSession } from '#src/engine/ort-session.js';
import { tokurStatistics } from '#src/graphs/tokur-statistics.js';
import { standardNormals } from '#src/numerics/noise.js';
import { logSoftmax } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';

type Uncertainty = Readonly<Record<'eu' | 'tu' | 'au', number[]>>;

/** Uncertainty of logits `[samples][scored][vocab]`, or of log-probabilities. */
async function measure(
  table: readonly (readonly (readonly number[])[])[],
  given: 'logits' | 'logprobs' = 'logits',
): Promise<Uncertainty> {
  const g = new Graph();
  const input = g.input('table', 'float32', ['samples', 'scored', table[0]![0]!.length]);
  const outputs = tokurStatistics(g, given === 'logits' ? logSoftmax(g, input) : input);
  for (const [name, value] of Object.entries(outputs)) g.output(name, value);
  const session = await openSession(g, { threads: 1 });
  const dims = [table.length, table[0]!.length, table[0]![0]!.length];
  const result = await session.run({ table: floats(Float32Array.from(table.flat(2)), dims) });
  await session.release();
  const read = (name: string) => Array.from(result[name]!.data as Float32Array);
  expect(result.eu!.dims).toEqual([dims[1]]);
  return { eu: read('eu'), tu: read('tu'), au: read('au') };
}

/** The definitions in float64, for one token: logits of each sample. */
function reference(logits: readonly (readonly number[])[]) {
  const samples = logits.map(logSoftmax64);
  const vocab = samples[0]!.map((_, v) => v);
  const mean = vocab.map((v) => samples.reduce((sum, lp) => sum + Math.exp(lp[v]!), 0) / samples.length);
  const sum = (terms: readonly number[]) => terms.reduce((total, term) => total + term, 0);
  const entropy = (p: readonly number[]) => -sum(p.map((x) => (x > 0 ? x * Math.log(x) : 0)));
  // log(p / p̄) = −log(mean of exp(lp' − lp)), by log1p of expm1: exact for samples that hardly differ.
  const divergence = (lp: readonly number[]) =>
    sum(
      vocab.map((v) => {
        const p = Math.exp(lp[v]!);
        const ratio = sum(samples.map((other) => Math.expm1(other[v]! - lp[v]!))) / samples.length;
        return p > 0 ? p * (ratio - Math.log1p(ratio)) : mean[v]!;
      }),
    );
  return {
    eu: sum(samples.map(divergence)) / samples.length,
    tu: entropy(mean),
    au: sum(samples.map((lp) => entropy(lp.map(Math.exp)))) / samples.length,
  };
}

function logSoftmax64(logits: readonly number[]): number[] {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const log = Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return logits.map((x) => x - largest - log);
}

describe('tokurStatistics', () => {
  // Independent: computed with numpy in float64 from the definitions.
  it('is what the definitions give', async () => {
    const { eu, tu, au } = await measure([[[2, 1, 0, -1]], [[1.5, 1.6, -0.2, -1]]]);
    expect(Math.abs(tu[0]! - 1.0215831786482716)).toBeLessThan(1e-6);
    expect(Math.abs(au[0]! - 0.9907002087583379)).toBeLessThan(1e-6);
    expect(Math.abs(eu[0]! - 0.030882969889933776)).toBeLessThan(1e-6);
  });

  it.each([
    [640, 1e-3, 2],
    [640, 5e-5, 2],
    [640, 5e-5, 10],
    [50_000, 1e-3, 2],
    [50_000, 5e-5, 2],
  ])(
    'keeps its digits with a vocabulary of %i and logits %d apart, %i samples',
    async (vocab, sigma, count) => {
      const scored = 3;
      const normals = (replica: number, position: number) => [
        ...standardNormals({ seed: 3, replica, position }, vocab),
      ];
      const clean = Array.from({ length: scored }, (_, t) => normals(0, t).map((x) => 4 * x));
      const samples = Array.from({ length: count }, (_, m) =>
        clean.map((row, t) => {
          const noise = normals(m + 1, t);
          return row.map((x, v) => x + (m === 0 ? 0 : sigma * noise[v]!));
        }),
      );
      // Log-probabilities, as the rounding of log-softmax is not what is measured here.
      const logprobs = samples.map((rows) => rows.map((row) => logSoftmax64(row)));
      const { eu, tu, au } = await measure(logprobs, 'logprobs');
      for (let t = 0; t < scored; t++) {
        const expected = reference(samples.map((rows) => rows[t]!));
        expect(expected.eu).toBeLessThan(sigma ** 2);
        expect(Math.abs(eu[t]! / expected.eu - 1)).toBeLessThan(0.01);
        expect(Math.abs(tu[t]! / expected.tu - 1)).toBeLessThan(1e-4);
        expect(Math.abs(au[t]! / expected.au - 1)).toBeLessThan(1e-4);
      }
    },
  );

  it('grows with the square of the difference', async () => {
    const row = [2, 1, 0.5, -3];
    const noise = [0.3, -1, 0.7, 2];
    const of = async (sigma: number) => {
      const { eu } = await measure([[row], [row.map((x, v) => x + sigma * noise[v]!)]]);
      return eu[0]!;
    };
    expect((await of(0.02)) / (await of(0.002))).toBeCloseTo(100, 0);
    expect((await of(0.002)) / (await of(0.0002))).toBeCloseTo(100, 0);
  });

  it('is zero where the samples agree', async () => {
    const row = Array.from({ length: 100 }, (_, v) => Math.sin(v) * 20);
    const { eu } = await measure([[row], [row]]);
    expect(eu[0]).toBeLessThan(1e-13);
    expect(eu[0]).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['samples that exclude each other', [[[300, 0, 0]], [[0, 300, 0]]]],
    ['one that excludes what the others take', [[[0, 0, 0]], [[0, -1000, -1000]], [[0, 0, 90]]]],
    ['logits as large as fp32 carries them', [[[1e30, 0, -1e30]], [[0, 0, 1e30]]]],
  ])('holds for %s', async (_, logits) => {
    const { eu, tu, au } = await measure(logits);
    const expected = reference(logits.map((rows) => rows[0]!));
    expect(eu[0]! / expected.eu).toBeCloseTo(1, 5);
    expect(tu[0]! / expected.tu).toBeCloseTo(1, 5);
    expect(au[0]!).toBeCloseTo(expected.au, 5);
  });

  it('passes from near to far without a step', async () => {
    // u runs from −0.4 to 0.5 in steps of about 0.01.
    for (let step = -60; step <= 60; step++) {
      const logits = [[[0, 0]], [[step / 50, 0]]];
      const expected = reference(logits.map((rows) => rows[0]!));
      const { eu } = await measure(logits);
      expect(Math.abs(eu[0]! - expected.eu)).toBeLessThan(1e-5 * expected.eu + 1e-13);
    }
  });

  it('is largest, log M, for M samples that are certain of different tokens', async () => {
    const { eu } = await measure([[[200, 0, 0]], [[0, 200, 0]], [[0, 0, 200]]]);
    expect(eu[0]).toBeCloseTo(Math.log(3), 5);
  });
});
