import { cp, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type LayerBasis, TOKUR_RANK, tokurBases } from '#src/engine/low-rank-basis.js';
import { type Feeds, floats, longs, openSession } from '#src/engine/session.js';
import { causalMask, windowAttention } from '#src/model/attention.js';
import { type Checkpoint, openCheckpoint } from '#src/model/checkpoint.js';
import { Decoder, externalTensor } from '#src/model/decoder.js';
import { type NoiseLaw, projectionNoise } from '#src/model/projection-noise.js';
import { RotaryEmbedding } from '#src/model/rope.js';
import { tokurStatistics } from '#src/model/tokur-statistics.js';
import { logSoftmax } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';
import {
  DEFAULT_TOKUR,
  type Projection,
  positionNoise,
  type TokurSettings,
  weightNoise,
} from '#src/uncertainty/tokur.js';
import { checkpointFolder, goldenCases, largestDifference } from '../support/golden.js';

const PROJECTIONS = ['q', 'v'] as const;
const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const moment = (x: Float32Array, k: number) => x.reduce((sum, value) => sum + value ** k, 0) / x.length;

describe('noise of projections', () => {
  const q: Projection = { layer: 0, name: 'q' };
  const v: Projection = { layer: 0, name: 'v' };
  const settings: TokurSettings = { ...DEFAULT_TOKUR, samples: 3, sigma: 0.1 };
  const weights = (of: Projection, changes: Partial<TokurSettings> = {}) =>
    weightNoise({ ...settings, ...changes }, of, { hidden: 500, rank: 8 });
  const rows = (of: Projection, law: TokurSettings['law'], positions: readonly number[]) =>
    positionNoise({ ...settings, law }, of, { positions, rank: 8 });

  it('leaves the first sample as it is, and has σ in the others', () => {
    for (const noise of [weights(q), rows(q, 'positions', range(500))]) {
      expect(noise).toHaveLength(3 * 4000);
      expect(noise.subarray(0, 4000).every((x) => x === 0)).toBe(true);
      expect(moment(noise.subarray(4000), 2)).toBeCloseTo(0.01, 3);
    }
  });

  it('differs between samples, layers, projections and seeds', () => {
    const draws = [weights(q), weights(v), weights({ layer: 1, name: 'q' }), weights(q, { seed: 1 })].flatMap(
      (noise) => [noise.subarray(4000, 8000), noise.subarray(8000)],
    );
    draws.forEach((a, i) => {
      for (const b of draws.slice(i + 1)) {
        expect(
          Math.abs(
            moment(
              a.map((x, k) => x * b[k]!),
              1,
            ) / 0.01,
          ),
        ).toBeLessThan(5 / Math.sqrt(4000));
      }
    });
  });

  it('belongs to the position, wherever a pass begins', () => {
    const all = rows(q, 'positions', range(10));
    const later = rows(q, 'positions', [7, 8, 9]);
    for (const sample of [1, 2]) {
      const end = (sample + 1) * 80;
      expect(later.subarray(sample * 24, (sample + 1) * 24)).toEqual(all.subarray(end - 24, end));
    }
  });

  it('is one for queries and values only where it is shared', () => {
    expect(rows(q, 'shared-positions', [4])).toEqual(rows(v, 'shared-positions', [4]));
    expect(rows(q, 'positions', [4])).not.toEqual(rows(v, 'positions', [4]));
  });
});

describe('TokUR on a checkpoint', () => {
  const dir = checkpointFolder('tiny-llama');
  const [example] = goldenCases('tiny-llama');
  const ids = [...example!.promptIds, ...example!.responseIds];
  let checkpoint: Checkpoint;
  let bases: readonly LayerBasis[];
  beforeAll(async () => {
    checkpoint = await openCheckpoint(dir);
    bases = await tokurBases(checkpoint, { threads: 1 });
  });

  const noiseOf = (settings: TokurSettings, of: Projection) =>
    settings.law === 'weights'
      ? weightNoise(settings, of, { hidden: checkpoint.config.hiddenSize, rank: TOKUR_RANK })
      : positionNoise(settings, of, { positions: range(ids.length), rank: TOKUR_RANK });

  const score = (settings: TokurSettings) =>
    forward(checkpoint, bases, ids, settings, (of) => noiseOf(settings, of));

  it('runs the clean model as its first sample', async () => {
    const { logprobs } = await score(DEFAULT_TOKUR);
    const clean = example!.responseIds.map((id, i) => logprobs[0]![example!.promptIds.length - 1 + i]![id]!);
    expect(largestDifference(clean, example!.logprob)).toBeLessThan(1e-4);
  });

  // An independent way to the same numbers: a checkpoint with W + B Eᵀ for W, run as it is.
  it('runs the model of the perturbed weights as its second', async () => {
    const settings: TokurSettings = { ...DEFAULT_TOKUR, sigma: 0.05 };
    const { logprobs } = await score(settings);
    const copy = await perturbedCopy(checkpoint, bases, (of) => noiseOf(settings, of));
    const plain = await forward(await openCheckpoint(copy), bases, ids, { ...settings, samples: 1 }, (of) =>
      noiseOf({ ...settings, samples: 1 }, of),
    );
    const last = ids.length - 1;
    expect(largestDifference(logprobs[1]![last]!, plain.logprobs[0]![last]!)).toBeLessThan(2e-5);
    expect(largestDifference(logprobs[0]![last]!, plain.logprobs[0]![last]!)).toBeGreaterThan(1e-2);
  });

  it.each(['weights', 'positions', 'shared-positions'] as const)(
    'has an epistemic uncertainty that grows with σ², under %s',
    async (law) => {
      const total = async (sigma: number) => {
        const { eu, tu, au } = await score({ ...DEFAULT_TOKUR, law, sigma });
        expect(eu.every((value) => value > 0)).toBe(true);
        const sum = (x: Float32Array) => x.reduce((a, b) => a + b, 0);
        expect(Math.abs(sum(tu) - sum(au) - sum(eu))).toBeLessThan(1e-3);
        return sum(eu);
      };
      const at = await total(1e-3);
      expect((await total(2e-3)) / at).toBeCloseTo(4, 1);
      expect((await total(5e-4)) / at).toBeCloseTo(0.25, 2);
    },
  );
});

/** The whole text at once, once for each sample: `logprobs[sample][position][token]` and the uncertainties. */
async function forward(
  source: Checkpoint,
  bases: readonly LayerBasis[],
  ids: readonly number[],
  { samples, law }: TokurSettings,
  noiseOf: (of: Projection) => Float32Array,
) {
  const { config } = source;
  const graphLaw: NoiseLaw = law === 'weights' ? 'weights' : 'positions';
  const g = new Graph();
  const decoder = new Decoder(g, source);
  const tokens = g.input('ids', 'int64', ['batch', 'window']);
  const positions = g.input('positions', 'int64', ['batch', 'window']);
  const pastPositions = g.input('past_positions', 'int64', ['batch', 'past']);
  const half = config.headDim / 2;
  const rotary = {
    cos: g.input('cos', 'float32', ['batch', 'window', half]),
    sin: g.input('sin', 'float32', ['batch', 'window', half]),
  };
  const width = config.kvHeads * config.headDim;
  const past = range(config.layers).map((layer) => ({
    key: g.input(`past_key.${layer}`, 'float32', ['batch', 'past', width]),
    value: g.input(`past_value.${layer}`, 'float32', ['batch', 'past', width]),
  }));
  const rows = g.input('rows', 'int64', ['scored']);
  const masks = config.slidingWindow.map((sliding) => causalMask(g, positions, pastPositions, sliding));
  const hidden = decoder.layers(
    decoder.embed(tokens),
    windowAttention(g, config, { rotary, past, masks }, []),
    projectionNoise(g, bases, graphLaw),
  );
  const logprobs = logSoftmax(g, decoder.logits(hidden, rows));
  const uncertainty = tokurStatistics(g, g.reshape(logprobs, ['batch', 'window', config.vocabSize]));
  g.output('logprobs', logprobs);
  for (const [name, value] of Object.entries(uncertainty)) g.output(name, value);

  const length = ids.length;
  const repeated = <T>(values: readonly T[]): T[] => range(samples).flatMap(() => values);
  const angles = new RotaryEmbedding(config).angles(repeated(range(length)));
  const feeds: Record<string, Feeds[string]> = {
    ids: longs(repeated(ids), [samples, length]),
    positions: longs(repeated(range(length)), [samples, length]),
    past_positions: longs([], [samples, 0]),
    cos: floats(angles.cos, [samples, length, half]),
    sin: floats(angles.sin, [samples, length, half]),
    rows: longs(range(samples * length), [samples * length]),
  };
  for (const layer of range(config.layers)) {
    feeds[`past_key.${layer}`] = floats(new Float32Array(), [samples, 0, width]);
    feeds[`past_value.${layer}`] = floats(new Float32Array(), [samples, 0, width]);
    for (const name of PROJECTIONS) {
      const dims =
        graphLaw === 'weights' ? [samples, config.hiddenSize, TOKUR_RANK] : [samples * length, TOKUR_RANK];
      feeds[`noise.${layer}.${name}`] = floats(noiseOf({ layer, name }), dims);
    }
  }
  const session = await openSession(g, { threads: 1 });
  const result = await session.run(feeds);
  await session.release();
  const read = (name: string) => result[name]!.data as Float32Array;
  const all = read('logprobs');
  const row = (i: number) => [...all.subarray(i * config.vocabSize, (i + 1) * config.vocabSize)];
  return {
    logprobs: range(samples).map((sample) =>
      range(length).map((position) => row(sample * length + position)),
    ),
    eu: read('eu'),
    tu: read('tu'),
    au: read('au'),
  };
}

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
      const weight = externalTensor(
        { config: source.config, tensors },
        `model.layers.${layer}.self_attn.${name}_proj.weight`,
      );
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
