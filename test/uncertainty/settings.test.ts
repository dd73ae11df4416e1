import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checkScoring,
  DEFAULT_SCORING,
  Engine,
  type Scoring,
  scoreResponse,
  TextScorer,
} from '#src/index.js';
import { checkpointFolder, goldenCases } from '../support/golden.js';
import { kill } from '../support/process.js';

const windowed = (block: number, window: number | 'all'): Scoring => ({
  ...DEFAULT_SCORING,
  schedule: { kind: 'windowed', block, window },
});

describe('checkScoring', () => {
  it.each([
    ['no methods', { ...DEFAULT_SCORING, methods: [] }, 'methods: '],
    ['alpha of 0', { ...DEFAULT_SCORING, alpha: 0 }, 'alpha: '],
    ['an alpha that vanishes in rounding', { ...DEFAULT_SCORING, alpha: 1e-12 }, 'alpha: '],
    ['an alpha that is no number', { ...DEFAULT_SCORING, alpha: Number.NaN }, 'alpha: '],
    ['a block of 0', windowed(0, 64), 'block: '],
    ['a fractional block', windowed(1.5, 64), 'block: '],
    ['a window below the block', windowed(8, 4), 'window: must be at least block, which is 8'],
    ['a fractional window', windowed(8, 9.5), 'window: '],
  ])('refuses %s by name', (_name, scoring, message) => {
    expect(() => checkScoring(scoring)).toThrow(message);
  });

  it('takes what makes sense', () => {
    for (const scoring of [DEFAULT_SCORING, windowed(1, 'all'), windowed(8, 8)]) {
      expect(() => checkScoring(scoring)).not.toThrow();
    }
  });
});

describe('TextScorer', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder('tiny-llama'));
  });
  afterAll(async () => {
    await engine.close();
  });
  const { promptIds, responseIds } = goldenCases('tiny-llama')[0]!;

  it('refuses settings and prompts before anything runs', async () => {
    await expect(TextScorer.open(engine, promptIds, windowed(8, 4))).rejects.toThrow('window: ');
    await expect(TextScorer.open(engine, [], DEFAULT_SCORING)).rejects.toThrow('promptIds: ');
    await expect(engine.generate({ ...request(), maxTokens: 0 })).rejects.toThrow('maxTokens: ');
    await expect(engine.generate({ ...request(), promptIds: [] })).rejects.toThrow('promptIds: ');
  });

  it('serves calls in their order, also when nobody waits between them', async () => {
    const scorer = await TextScorer.open(engine, promptIds, DEFAULT_SCORING);
    const parts = await Promise.all([
      scorer.push(responseIds.slice(0, 11)),
      scorer.push(responseIds.slice(11, 30)),
      scorer.push(responseIds.slice(30)),
      scorer.finish(),
    ]);
    scorer.close();
    expect(parts.flat()).toEqual(
      (await scoreResponse(engine, promptIds, responseIds, DEFAULT_SCORING)).tokens,
    );
  });

  it('stays failed after a failure', async () => {
    const scorer = await TextScorer.open(engine, promptIds, DEFAULT_SCORING);
    await scorer.push(responseIds.slice(0, 8));
    kill(engine.status().score.pid);
    await expect(scorer.push(responseIds.slice(8, 16))).rejects.toMatchObject({ code: 'crashed' });
    await expect(scorer.push(responseIds.slice(16, 24))).rejects.toMatchObject({ code: 'crashed' });
    await expect(scorer.finish()).rejects.toMatchObject({ code: 'crashed' });
  });

  it('refuses a text that does not fit the context', async () => {
    const long = Array.from({ length: 600 }, () => 5);
    await expect(scoreResponse(engine, promptIds, long, DEFAULT_SCORING)).rejects.toMatchObject({
      code: 'too_long',
    });
  });

  const request = () => ({
    promptIds,
    maxTokens: 5,
    endIds: [],
    stop: [],
    topLogprobs: 0,
    sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
  });
});
