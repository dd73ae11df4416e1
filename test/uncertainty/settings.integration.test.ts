import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checkScoring,
  DEFAULT_SCORING,
  Engine,
  parseScale,
  type Scoring,
  SequenceScorer,
  scoreResponse,
} from '#src/index.js';
import { absoluteScoring } from '#src/uncertainty/settings.js';
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
    ['a relative alpha of 0', { ...DEFAULT_SCORING, alpha: { rms: 0 } }, 'alpha: '],
    ['a relative alpha that is no number', { ...DEFAULT_SCORING, alpha: { rms: Number.NaN } }, 'alpha: '],
    ['a block of 0', windowed(0, 64), 'block: '],
    ['a fractional block', windowed(1.5, 64), 'block: '],
    ['a window below the block', windowed(8, 4), 'window: must be at least block, which is 8'],
    ['a fractional window', windowed(8, 9.5), 'window: '],
  ])('refuses %s by name', (_name, scoring, message) => {
    expect(() => checkScoring(scoring)).toThrow(message);
  });

  it('takes what makes sense', () => {
    const relative = { ...DEFAULT_SCORING, alpha: { rms: 0.005 } };
    for (const scoring of [DEFAULT_SCORING, relative, windowed(1, 'all'), windowed(8, 8)]) {
      expect(() => checkScoring(scoring)).not.toThrow();
    }
  });
});

describe('parseScale', () => {
  it.each([
    ['1e-4', 1e-4],
    ['0.5', 0.5],
    ['0.005rms', { rms: 0.005 }],
    ['5e-3 rms', { rms: 0.005 }],
  ])('reads %s', (text, scale) => {
    expect(parseScale(text)).toEqual(scale);
  });

  it.each(['', ' ', 'rms', 'much', '1e999', 'NaNrms', 'Infinityrms', '0.005 RMS', '1rmsrms'])(
    'knows nothing of "%s"',
    (text) => {
      expect(parseScale(text)).toBeNull();
    },
  );
});

describe('absoluteScoring', () => {
  const unread = () => Promise.reject(new Error('the embeddings were read'));

  it('multiplies the RMS, which is asked for only then', async () => {
    const scoring = { ...windowed(4, 8), alpha: { rms: 0.005 } };
    expect(await absoluteScoring(scoring, async () => 0.02)).toEqual({ ...scoring, alpha: 0.005 * 0.02 });
    expect(await absoluteScoring(DEFAULT_SCORING, unread)).toEqual(DEFAULT_SCORING);
  });

  it.each([
    ['too small', 0.005, 1e-9],
    ['too large', 1000, 0.02],
    ['0', 0.005, 0],
  ])('refuses a product that is %s', async (_name, factor, rms) => {
    const scoring = { ...DEFAULT_SCORING, alpha: { rms: factor } };
    const refused = absoluteScoring(scoring, async () => rms);
    await expect(refused).rejects.toMatchObject({ type: 'settings', field: 'alpha' });
  });

  it('refuses what else is wrong before anything is read', async () => {
    const scoring = { ...windowed(8, 4), alpha: { rms: 0.005 } };
    await expect(absoluteScoring(scoring, unread)).rejects.toThrow('window: ');
  });
});

describe('SequenceScorer', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder('tiny-llama'));
  });
  afterAll(async () => {
    await engine.close();
  });
  const { promptIds, responseIds } = goldenCases('tiny-llama')[0]!;

  it('refuses settings and prompts before anything runs', async () => {
    await expect(SequenceScorer.open(engine, promptIds, windowed(8, 4))).rejects.toThrow('window: ');
    await expect(SequenceScorer.open(engine, [], DEFAULT_SCORING)).rejects.toThrow('promptIds: ');
    await expect(engine.generate({ ...request(), maxTokens: 0 })).rejects.toThrow('maxTokens: ');
    await expect(engine.generate({ ...request(), promptIds: [] })).rejects.toThrow('promptIds: ');
  });

  it('scores with a relative alpha as with the product', async () => {
    const alpha = 0.005 * (await engine.checkpoint.embeddingRms());
    expect(alpha).not.toBeCloseTo(DEFAULT_SCORING.alpha, 5);
    const scored = (scoring: Scoring) => scoreResponse(engine, promptIds, responseIds, scoring);
    const relative = await scored({ ...DEFAULT_SCORING, alpha: { rms: 0.005 } });
    expect(relative).toEqual(await scored({ ...DEFAULT_SCORING, alpha }));
    expect(relative).not.toEqual(await scored(DEFAULT_SCORING));
    await expect(scored({ ...DEFAULT_SCORING, alpha: { rms: 1e6 } })).rejects.toThrow('alpha: ');
  });

  it('serves calls in their order, also when nobody waits between them', async () => {
    const scorer = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING);
    const response = responseIds.map((id) => ({ id }));
    const parts = await Promise.all([
      scorer.push(response.slice(0, 11)),
      scorer.push(response.slice(11, 30)),
      scorer.push(response.slice(30)),
      scorer.finish(),
    ]);
    scorer.close();
    expect(parts.flat()).toEqual(
      (await scoreResponse(engine, promptIds, responseIds, DEFAULT_SCORING)).tokens,
    );
  });

  it('stays failed after a failure', async () => {
    const scorer = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING);
    const response = responseIds.map((id) => ({ id }));
    await scorer.push(response.slice(0, 8));
    kill(engine.status().score.pid);
    await expect(scorer.push(response.slice(8, 16))).rejects.toMatchObject({ code: 'crashed' });
    await expect(scorer.push(response.slice(16, 24))).rejects.toMatchObject({ code: 'crashed' });
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
