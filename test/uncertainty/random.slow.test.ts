import { readFileSync } from 'node:fs';
import { mean } from 'simple-statistics';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { NoiseReplicas } from '#src/engine/child/noise-replicas.js';
import { replicaCaches } from '#src/engine/child/replicas.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { Engine, openCheckpoint, type Scoring, scoreResponse } from '#src/index.js';
import type { NoiseCoordinates } from '#src/numerics/noise.js';
import { random } from '#src/uncertainty/methods.js';
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

  async function score({ promptIds, responseIds }: GoldenCase, changes: Partial<Scoring>): Promise<number[]> {
    const scoring: Scoring = { methods: ['random'], alpha: 1e-4, schedule: { kind: 'offline' }, ...changes };
    const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
    return tokens.map(({ scores }) => scores.random!);
  }

  it('is the variance of float64 under the same noise', async () => {
    const source = await openCheckpoint(checkpointFolder(name));
    const [sessions, runtime] = [new Sessions(source, { threads: 1 }), runtimeOf({ source, threads: 1 })];
    for (const { promptIds, responseIds, noiseFile, noiseShape, randVar } of cases) {
      const [samples, positions] = noiseShape as [number, number];
      const bytes = readFileSync(`${checkpointFolder(name)}/${noiseFile}`);
      const given = ({ replica, position }: NoiseCoordinates, size: number) => {
        const at = (replica * positions + position) * size;
        return Float32Array.from({ length: size }, (_, i) => bytes.readFloatLE(4 * (at + i)));
      };
      const context = { sessions, runtime, limit: positions + 1 };
      const options = { kind: 'noise', samples, sigma: 1, seed: 0 } as const;
      const ids = [...promptIds, ...responseIds];
      const caches = replicaCaches(samples, context);
      const runs = new NoiseReplicas(options, context, caches, given).advance(ids, promptIds.length);
      let next = runs.next();
      for (; !next.done; next = runs.next()) await next.value();
      const values = next.value.map((logprobs) => random(logprobs));
      expect(largestDifference(values, randVar) / Math.max(...randVar)).toBeLessThan(0.005);
      expect(scoreErrors(values, randVar).p99).toBeLessThan(0.001);
    }
  });

  it('is the same streamed as finished', async () => {
    const random = { sigma: 1e-3, samples: 5, seed: 7 };
    const finished = await score(cases[0]!, { random });
    const schedule = { kind: 'windowed', block: 3, window: 8 } as const;
    const streamed = await score(cases[0]!, { random, schedule });
    expect(largestDifference(streamed, finished) / Math.max(...finished)).toBeLessThan(1e-3);
    expect(await score(cases[0]!, { random: { ...random, seed: 8 } })).not.toEqual(finished);
  });

  it('is σ²‖∇f‖₂² where σ is small', async () => {
    const [sigma, samples] = [1e-3, 256];
    const golden = cases[1]!;
    const values = await score(golden, { random: { sigma, samples, seed: 5 } });
    const ratios = values.map((value, t) => value / (sigma * golden.gradL2[t]!) ** 2);
    // Over n draws this is χ² / n. Beyond five of its standard deviations is one token in two million.
    const deviation = Math.sqrt(2 / samples);
    expect(Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)))).toBeLessThan(5 * deviation);
    expect(Math.abs(mean(ratios) - 1)).toBeLessThan(deviation);
  });
});
