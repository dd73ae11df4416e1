import { cp, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { type LayerBasis, TOKUR_RANK } from '#src/engine/child/low-rank-basis.js';
import { Engine, type Scoring, scoreResponse } from '#src/index.js';
import { type Projection, type TokurSettings, weightNoise } from '#src/numerics/tokur-noise.js';
import { TOKUR_METHODS } from '#src/uncertainty/method-names.js';
import { checkpointFolder, goldenCases, largestDifference } from '../support/golden.js';
import { tokurBases } from '../support/tokur.js';
import { storedWeight } from '../support/weights.js';

const PROJECTIONS = ['q', 'v'] as const;
const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

const SETTINGS: TokurSettings = { samples: 2, sigma: 1e-3, seed: 0 };
const { promptIds, responseIds } = goldenCases('tiny-llama')[0]!;

describe('TokUR', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder('tiny-llama'));
  });
  afterAll(async () => {
    await engine.close();
  });

  async function score(tokur: TokurSettings, changes: Partial<Scoring> = {}, of = engine) {
    const methods = [...TOKUR_METHODS, 'entropy'] as const;
    const scoring = { methods, alpha: 1e-4, schedule: { kind: 'offline' }, tokur, ...changes } as const;
    const { tokens } = await scoreResponse(of, promptIds, responseIds, scoring);
    const column = (method: (typeof methods)[number]) => tokens.map(({ scores }) => scores[method]!);
    return {
      eu: column('tokur_eu'),
      tu: column('tokur_tu'),
      au: column('tokur_au'),
      entropy: column('entropy'),
    };
  }

  // An independent way to the same number: a checkpoint with W + B Eᵀ for W, run as it is.
  it('has the mean entropy of the model and of one with perturbed weights', async () => {
    const settings = { ...SETTINGS, sigma: 0.05 };
    const checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
    const bases = await tokurBases(checkpoint, { threads: 1 });
    const hidden = checkpoint.config.hiddenSize;
    const copy = await perturbedCopy(checkpoint, bases, (of) =>
      weightNoise(settings, of, { hidden, rank: TOKUR_RANK }),
    );
    const perturbed = await Engine.open(copy);
    onTestFinished(() => perturbed.close());
    const { au, entropy } = await score(settings);
    const other = (await score(SETTINGS, { methods: ['entropy'] }, perturbed)).entropy;
    const expected = entropy.map((value, i) => (value + other[i]!) / 2);
    expect(largestDifference(au, expected)).toBeLessThan(1e-4);
    expect(largestDifference(entropy, other)).toBeGreaterThan(1e-2);
  });

  it('has an epistemic part that grows with σ² and is what the total has beyond the aleatoric one', async () => {
    const at = await score(SETTINGS);
    expect(at.eu.every((value) => value > 0)).toBe(true);
    expect(Math.abs(sum(at.tu) - sum(at.au) - sum(at.eu))).toBeLessThan(1e-3);
    const twice = await score({ ...SETTINGS, sigma: 2e-3 });
    expect(sum(twice.eu) / sum(at.eu)).toBeCloseTo(4, 1);
  });

  it('is the same streamed as finished', async () => {
    const settings = { ...SETTINGS, samples: 3 };
    const finished = await score(settings);
    const streamed = await score(settings, { schedule: { kind: 'windowed', block: 3, window: 8 } });
    const scale = Math.max(...finished.eu);
    expect(largestDifference(streamed.eu, finished.eu) / scale).toBeLessThan(1e-3);
    expect(largestDifference(streamed.tu, finished.tu)).toBeLessThan(1e-4);
  });
});

/** A copy of a checkpoint in fp32 whose query and value weights are those of sample 1. */
async function perturbedCopy(
  source: Checkpoint,
  bases: readonly LayerBasis[],
  noiseOf: (of: Projection) => Float32Array,
): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'flinch-tokur-'));
  onTestFinished(() => rm(copy, { recursive: true }));
  await cp(source.dir, copy, { recursive: true });
  const { tensors } = await openCheckpoint(copy);
  for (const layer of range(source.config.layers)) {
    for (const name of PROJECTIONS) {
      const weight = storedWeight({ tensors }, `model.layers.${layer}.self_attn.${name}_proj.weight`);
      const [out, hidden] = [weight.shape[0]!, weight.shape[1]!];
      const basis = bases[layer]![name].vectors;
      const noise = noiseOf({ layer, name }).subarray(hidden * TOKUR_RANK);
      const file = await open(weight.file, 'r+');
      const values = new Float32Array(out * hidden);
      await file.read(values, 0, weight.byteLength, weight.offset);
      const perturbed = values.map((value, at) => {
        const [i, j] = [Math.floor(at / hidden), at % hidden];
        return range(TOKUR_RANK).reduce(
          (sum, k) => sum + basis[k * out + i]! * noise[j * TOKUR_RANK + k]!,
          value,
        );
      });
      await file.write(perturbed, 0, weight.byteLength, weight.offset);
      await file.close();
    }
  }
  return copy;
}
