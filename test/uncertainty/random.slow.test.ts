import { readFileSync } from 'node:fs';
import { mean } from 'simple-statistics';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine, type Scoring, scoreResponse } from '#src/index.js';
import {
  CHECKPOINTS,
  checkpointFolder,
  type GoldenCase,
  goldenCases,
  largestDifference,
  scoreErrors,
} from '../support/golden.js';

describe.each(CHECKPOINTS)('Rand. Pert. on %s', (name) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder(name));
  });
  afterAll(async () => {
    await engine.close();
  });
  const cases = goldenCases(name);

  function goldenNoise({ noiseFile, noiseShape }: GoldenCase) {
    const bytes = readFileSync(`${checkpointFolder(name)}/${noiseFile}`);
    const noise = Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
    return { noise, samples: noiseShape[0]!, sigma: 0.01, seed: 0 };
  }

  async function score({ promptIds, responseIds }: GoldenCase, changes: Partial<Scoring>): Promise<number[]> {
    const scoring: Scoring = { methods: ['random'], alpha: 1e-4, schedule: { kind: 'offline' }, ...changes };
    const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
    return tokens.map(({ scores }) => scores.random!);
  }

  it('is the variance of float64 under the same noise', async () => {
    for (const golden of cases) {
      const values = await score(golden, { random: goldenNoise(golden) });
      expect(largestDifference(values, golden.randVar) / Math.max(...golden.randVar)).toBeLessThan(0.005);
      expect(scoreErrors(values, golden.randVar).p99).toBeLessThan(0.001);
    }
  });

  it.each(['perturb', 'derivative'] as const)('is the same streamed as finished, by %s', async (form) => {
    const random = { sigma: 1e-3, samples: 5, seed: 7 };
    const finished = await score(cases[0]!, { random, form });
    const schedule = { kind: 'windowed', block: 3, window: 8 } as const;
    const streamed = await score(cases[0]!, { random, form, schedule });
    expect(largestDifference(streamed, finished) / Math.max(...finished)).toBeLessThan(1e-3);
    expect(await score(cases[0]!, { random: { ...random, seed: 8 }, form })).not.toEqual(finished);
  });

  it('agrees with its derivative form where the noise is small', async () => {
    // In 20 draws the mean of ∇f · Δ is not quite the 0 that the derivative form knows it to be.
    const random = { sigma: 1e-3, samples: 20, seed: 1 };
    const values = await score(cases[1]!, { random });
    const derivatives = await score(cases[1]!, { random, form: 'derivative' });
    const ratio = mean(values) / mean(derivatives);
    expect(ratio).toBeGreaterThan(0.85);
    expect(ratio).toBeLessThan(1.02);
  });

  it.each(['perturb', 'derivative'] as const)('is σ²‖∇f‖₂² where σ is small, by %s', async (form) => {
    const [sigma, samples] = [1e-3, 256];
    const golden = cases[1]!;
    const values = await score(golden, { random: { sigma, samples, seed: 5 }, form });
    const ratios = values.map((value, t) => value / (sigma * golden.gradL2[t]!) ** 2);
    // Over n draws this is χ² / n. Beyond five of its standard deviations is one token in two million.
    const deviation = Math.sqrt(2 / samples);
    expect(Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)))).toBeLessThan(5 * deviation);
    expect(Math.abs(mean(ratios) - 1)).toBeLessThan(deviation);
  });

  it('refuses noise of another size', async () => {
    const { noise, ...random } = goldenNoise(cases[0]!);
    const score1 = score(cases[0]!, { random: { ...random, noise: noise.subarray(1) } });
    await expect(score1).rejects.toThrow(/^noise: contains \d+ numbers instead of samples × \(tokens − 1\)/);
  });
});
