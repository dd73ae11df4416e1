import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine, type Schedule, type Scoring, scoreResponse } from '#src/index.js';
import { SequenceScorer } from '#src/uncertainty/sequence-scorer.js';
import { goldenCases, largestDifference, REASONER, scoreErrors } from '../support/golden.js';
import { greedy } from '../support/requests.js';
import { hasAdapter } from '../support/webgpu.js';

/** Adv. Pert. whose passes perturb positions of the prompt beside their windows. */
const scoring = (schedule: Schedule): Scoring => ({ methods: ['adversarial'], alpha: 1e-4, schedule });
const WINDOW = { kind: 'windowed', block: 4, window: 6 } as const;
const BESIDE = { ...WINDOW, prompt: 24 } as const;

describe('passes that perturb the prompt, too', () => {
  let engine: Engine;
  let promptIds: readonly number[];
  let responseIds: number[];
  beforeAll(async () => {
    engine = await Engine.open(REASONER, { maxStreams: 4 });
    const request = greedy(engine, { maxTokens: 60 });
    ({ promptIds } = request);
    responseIds = [];
    const generation = await engine.generate(request);
    for (let item = await generation.next(); item.type !== 'end'; item = await generation.next())
      responseIds.push(item.id);
  });
  afterAll(() => engine.close());

  const scores = async (schedule: Schedule, response = responseIds, on = engine) =>
    (await scoreResponse(on, promptIds, response, scoring(schedule))).tokens.map(
      ({ scores }) => scores.adversarial!,
    );

  it('come nearer to those that perturb all positions', async () => {
    const all = await scores({ ...WINDOW, window: 'all' });
    const [without, beside] = [await scores(WINDOW), await scores(BESIDE)];
    const distance = (some: readonly number[]): number =>
      some.reduce((sum, score, i) => sum + Math.abs(score - all[i]!), 0);
    expect(distance(beside)).toBeLessThan(0.9 * distance(without));
  });

  it('cost the positions that they cover', async () => {
    const of = async (schedule: Schedule) =>
      (await scoreResponse(engine, promptIds, responseIds, scoring(schedule))).positions;
    const passes = Math.ceil(responseIds.length / WINDOW.block);
    // The windows of the first two passes begin in the prompt.
    expect((await of(BESIDE)) - (await of(WINDOW))).toBeGreaterThan(24 * (passes - 3));
    expect((await of(BESIDE)) - (await of(WINDOW))).toBeLessThanOrEqual(24 * passes);
  });

  it('give a stream, several streams and another continuation the same scores', async () => {
    const whole = await scores(BESIDE);
    const streamed = async () => {
      const scorer = await SequenceScorer.open(engine, promptIds, scoring(BESIDE), 200, 1);
      try {
        const tokens = [];
        for (const id of responseIds) tokens.push(...(await scorer.push([{ id }])));
        tokens.push(...(await scorer.finish()));
        const fork = await scorer.fork(20);
        const again = await fork.push(responseIds.slice(20).map((id) => ({ id })));
        again.push(...(await fork.finish()));
        fork.close();
        return [tokens, again].map((some) => some.map(({ scores }) => scores.adversarial!));
      } finally {
        scorer.close();
      }
    };
    const [tokens, again] = await streamed();
    expect(tokens).toEqual(whole);
    expect(again).toEqual(whole.slice(20));
    for (const [one] of await Promise.all([streamed(), streamed(), streamed()]))
      expect(scoreErrors(one!, whole).all).toBeLessThan(0.001);
  });

  it('attack doubtful tokens alone where they are lazy', async () => {
    const lazy = { ...BESIDE, kind: 'lazy', epsilon: 0.01 } as const;
    const found = await scores(lazy);
    expect(found.some((score) => score === undefined)).toBe(true);
    expect(found.filter((score) => score !== undefined).length).toBeGreaterThan(3);
  });

  it('are the same in integers and on WebGPU', async () => {
    const model = 'test/fixtures/gguf/tiny-smollm3.gguf';
    const [golden] = goldenCases('tiny-llama');
    const ids = [...golden!.promptIds, ...golden!.responseIds].map((id) => id % 128);
    const devices = ['cpu', ...((await hasAdapter('prompt.test.ts')) ? (['webgpu'] as const) : [])] as const;
    const results = [];
    for (const device of devices) {
      const on = await Engine.open(model, { device });
      const { tokens } = await scoreResponse(on, ids.slice(0, 30), ids.slice(30, 70), scoring(BESIDE));
      const far = await scoreResponse(on, ids.slice(0, 30), ids.slice(30, 70), scoring(WINDOW));
      const [own, other] = [tokens, far.tokens].map((some) => some.map(({ scores }) => scores.adversarial!));
      expect(largestDifference(own!, other!)).toBeGreaterThan(0);
      results.push(own!);
      await on.close();
    }
    for (const result of results) expect(scoreErrors(result, results[0]!).all).toBeLessThan(0.005);
  });
});
