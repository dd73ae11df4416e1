import { readdirSync } from 'node:fs';
import { mean, sampleCorrelation, sampleRankCorrelation } from 'simple-statistics';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { TASKS } from '#bench/tasks/problem.js';
import type { Precision } from '#src/engine/device.js';
import {
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  type GenerateRequest,
  type Scoring,
  scoreResponse,
} from '#src/index.js';
import { modelWithOutliers } from '../support/changed-model.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder, largestDifference, REASONER } from '../support/golden.js';
import { greedy, PLAIN_QUESTION } from '../support/requests.js';

const folder = useFolder();
const { XDG_CACHE_HOME } = process.env;
beforeAll(() => {
  process.env.XDG_CACHE_HOME = folder.path('cache');
});
afterAll(() => {
  if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
});

async function written(engine: Engine, changes: Partial<GenerateRequest> = { maxTokens: 40, endIds: [] }) {
  const generation = await engine.generate(greedy(engine, changes));
  const tokens = [];
  for (;;) {
    const item = await generation.next();
    if (item.type === 'end') return tokens;
    tokens.push(item);
  }
}

const FIXTURES = ['tiny-llama', 'tiny-qwen2', 'tiny-mistral'] as const;

const NLL: Scoring = { methods: ['nll'], alpha: 1e-4, schedule: { kind: 'offline' } };

describe('a model in int8', () => {
  // Widths of 32 and 16 fill a block or half of one; the reasoner's are several blocks.
  it.each([REASONER, ...FIXTURES.map(checkpointFolder)])('writes nearly as in fp32: %s', async (model) => {
    const [exact, rounded] = [await Engine.open(model), await Engine.open(model, { precision: 'int8' })];
    try {
      const promptIds = encodePrompt(exact.checkpoint, [{ role: 'user', content: PLAIN_QUESTION }]);
      const asked = { promptIds, maxTokens: 40, endIds: [] };
      const [before, after] = [await written(exact, asked), await written(rounded, asked)];
      const same = before.findIndex(({ id }, i) => after[i]?.id !== id);
      const compared = same < 0 ? before.length : same;
      expect(compared).toBeGreaterThan(0);
      const differences = before
        .slice(0, compared)
        .map(({ logprob }, i) => Math.abs(logprob - after[i]!.logprob));
      const mean = differences.reduce((sum, difference) => sum + difference, 0) / compared;
      expect(mean).toBeLessThan(0.2); // of random weights; 0.005 of the embedded model
      expect(mean).toBeGreaterThan(0); // it is not the same computation
    } finally {
      await Promise.all([exact.close(), rounded.close()]);
    }
  });

  it('has the probabilities of fp32, and nearly its derivatives', async () => {
    const engines = [await Engine.open(REASONER), await Engine.open(REASONER, { precision: 'int8' })];
    try {
      const [tokens] = [await written(engines[0]!)];
      const { promptIds } = greedy(engines[0]!);
      const scored = await Promise.all(
        engines.map((engine) =>
          scoreResponse(
            engine,
            promptIds,
            tokens.map(({ id }) => ({ id, begins: false })),
            DEFAULT_SCORING,
          ),
        ),
      );
      const [exact, rounded] = scored.map(({ tokens }) => tokens);
      for (const name of ['nll', 'entropy', 'margin'] as const) {
        expect(rounded!.map(({ scores }) => scores[name])).toSatisfy((found: number[]) =>
          found.every((score, i) => Math.abs(score - exact![i]!.scores[name]!) < 1e-5),
        );
      }
      const falls = scored.map(({ tokens }) => tokens.map(({ scores }) => scores.adversarial!));
      expect(falls[1]).not.toEqual(falls[0]);
      expect(sampleCorrelation(falls[1]!, falls[0]!)).toBeGreaterThan(0.98);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  });

  it('keeps its integers in the cache folder', () => {
    const files = readdirSync(folder.path('cache/flinch/int8'));
    expect(files.length).toBe(4);
    for (const file of files) expect(file).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['int8', 'webgpu', 'cpu'],
    ['bf16', 'cpu', 'cuda'],
  ] as const)('%s does not run on %s', async (precision, device, only) => {
    const opened = Engine.open(REASONER, { precision, device });
    await expect(opened).rejects.toThrow(`precision: ${precision} runs on ${only} only, not on ${device}`);
  });
});

describe('a model with outliers in its activations, in int8', () => {
  const open = async (model: string, precision: Precision): Promise<Engine> => {
    const engine = await Engine.open(model, { precision });
    onTestFinished(() => engine.close());
    return engine;
  };

  it('ranks tokens as it does in fp32', async () => {
    const outliers = modelWithOutliers(REASONER, folder.path('outliers'));
    const [exact, rounded] = [await open(REASONER, 'fp32'), await open(outliers, 'int8')];
    const scores: Record<'fp32' | 'same' | 'int8', number[]> = { fp32: [], same: [], int8: [] };
    for (const { question } of generateProblems({ seed: 1, count: 20, tasks: TASKS })) {
      const promptIds = encodePrompt(exact.checkpoint, [{ role: 'user', content: question }]);
      const sampling = { temperature: 1, topK: 0, topP: 1, seed: 1 };
      const tokens = await written(rounded, { promptIds, sampling });
      scores.int8.push(...tokens.map(({ logprob }) => -logprob));
      const ids = tokens.map(({ id }) => id);
      for (const [name, engine] of Object.entries({ fp32: exact, same: rounded })) {
        const { tokens: scored } = await scoreResponse(engine, promptIds, ids, NLL);
        scores[name as 'fp32' | 'same'].push(...scored.map((token) => token.scores.nll!));
      }
    }
    expect(scores.fp32.length).toBeGreaterThan(500);
    // It is the same function.
    expect(largestDifference(scores.same, scores.fp32)).toBeLessThan(1e-3);
    expect(sampleRankCorrelation(scores.int8, scores.fp32)).toBeGreaterThan(0.98);
    // It is 0.0005 without outliers and 0.0014 with them: they do reach the products.
    const differences = scores.int8.map((score, i) => Math.abs(score - scores.fp32[i]!));
    expect(mean(differences)).toBeGreaterThan(0.0009);
  });
});
