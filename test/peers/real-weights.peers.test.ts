import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkpointOf } from '#lab/peers/peers-folder.js';
import { Engine, encodePrompt, type Scoring, scoreResponse } from '#src/index.js';
import { type GoldenCase, readRealGolden, scoreErrors } from '../support/golden.js';
import { goldenTests, greedyIds } from '../support/golden-tests.js';
import { needs } from '../support/peers.js';

const folder = checkpointOf('smollm2');
const { missing, reason } = needs(folder);
/** Two tokens whose log-probabilities are closer than this may change places in fp32. */
const NEAR_TIE = 1e-3;

/** Made by lab/scripts/golden.py of lab/scripts/golden-texts.json. */
const { weights, cases, continued } = readRealGolden('smollm2');

describe.skipIf(missing)(`SmolLM2-135M-Instruct agrees with transformers in float64${reason}`, () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(folder);
  });
  afterAll(async () => {
    await engine.close();
  });

  it('has the weights that the values are of', async () => {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(folder, 'model.safetensors')), hash);
    expect(hash.digest('hex')).toBe(weights);
  });

  it('renders and encodes the conversations alike', () => {
    for (const { messages, promptIds, response, responseIds } of cases) {
      expect(encodePrompt(engine.checkpoint, messages)).toEqual(promptIds);
      expect(engine.checkpoint.tokenizer.encode(response)).toEqual(responseIds);
    }
  });

  goldenTests(() => engine, cases, ['nll', 'entropy', 'margin']);

  it.each(cases.map((golden, i) => ({ ...golden, i })))('case $i: other measures', async (golden) => {
    const values = await score(golden, { methods: ['adversarial'], form: 'derivative' });
    const derivatives = golden.jvp.map((value) => golden.alpha * value);
    expect(scoreErrors(values.adversarial, derivatives).all).toBeLessThan(1e-3);
    const { sigma, noiseSeed: seed, noiseShape } = golden;
    const random = { sigma, seed, samples: noiseShape[0]! };
    const noisy = await score(golden, { methods: ['random'], random });
    expect(scoreErrors(noisy.random, golden.randVar).p99).toBeLessThan(0.001);
    expect(scoreErrors(noisy.random, golden.randVar).all).toBeLessThan(0.005);
  });

  it('continues 50 prompts alike, up to near ties', async () => {
    const parted: number[] = [];
    for (const { promptIds, greedyIds: expected, leads } of continued) {
      const ids = await greedyIds(engine, promptIds, expected.length);
      const at = expected.findIndex((id, i) => ids[i] !== id);
      if (at >= 0) parted.push(leads[at]!);
    }
    expect(parted.filter((lead) => lead > NEAR_TIE)).toEqual([]);
    expect(parted.length).toBeLessThan(continued.length / 10);
  });

  async function score({ promptIds, responseIds, alpha }: GoldenCase, changes: Partial<Scoring>) {
    const schedule = { kind: 'offline' } as const;
    const scoring: Scoring = { methods: ['adversarial'], alpha, schedule, ...changes };
    const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
    return {
      adversarial: tokens.map(({ scores }) => scores.adversarial!),
      random: tokens.map(({ scores }) => scores.random!),
    };
  }
});
