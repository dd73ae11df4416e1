import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine, encodePrompt, METHODS, type Schedule, scoreResponse } from '#src/index.js';
import {
  CHECKPOINTS,
  checkpointFolder,
  goldenCases,
  largestDifference,
  parseScheduleKey,
  scoreErrors,
} from '../support/golden.js';

describe.each(CHECKPOINTS)('%s agrees with float64 PyTorch', (name) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder(name));
  });
  afterAll(async () => {
    await engine.close();
  });

  const cases = goldenCases(name).map((golden, i) => ({ ...golden, i }));
  const offline: Schedule = { kind: 'offline' };

  it.each(cases)('case $i: probabilities', async ({ promptIds, responseIds, logprob, entropy, margin }) => {
    const scoring = { methods: METHODS, alpha: 1e-4, schedule: offline };
    const { tokens, positions } = await scoreResponse(engine, promptIds, responseIds, scoring);
    expect(positions).toBe(promptIds.length + responseIds.length - 1);
    expect(tokens.map(({ index }) => index)).toEqual(responseIds.map((_, i) => i));
    expect(tokens.map(({ id }) => id)).toEqual(responseIds);
    expect(
      largestDifference(
        tokens.map((token) => token.logprob),
        logprob,
      ),
    ).toBeLessThan(1e-4);
    expect(
      largestDifference(
        tokens.map(({ scores }) => -scores.nll!),
        logprob,
      ),
    ).toBeLessThan(1e-4);
    expect(
      largestDifference(
        tokens.map(({ scores }) => scores.entropy!),
        entropy,
      ),
    ).toBeLessThan(1e-3);
    expect(
      largestDifference(
        tokens.map(({ scores }) => scores.margin!),
        margin,
      ),
    ).toBeLessThan(1e-3);
  });

  it.each(cases)(
    'case $i: adversarial, offline',
    async ({ promptIds, responseIds, alpha, adv, advAlpha1em4 }) => {
      for (const [step, expected, p99] of [
        [alpha, adv, 0.0005] as const,
        [1e-4, advAlpha1em4, 0.005] as const,
      ]) {
        const scoring = { methods: METHODS, alpha: step, schedule: offline };
        const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
        const errors = scoreErrors(
          tokens.map(({ scores }) => scores.adversarial!),
          expected,
        );
        expect(errors.p99).toBeLessThan(p99);
        expect(errors.all).toBeLessThan(4 * p99);
      }
    },
  );

  it.each(cases)('case $i: adversarial, windowed', async ({ promptIds, responseIds, alpha, windowed }) => {
    for (const [key, expected] of Object.entries(windowed)) {
      const scoring = { methods: ['adversarial'] as const, alpha, schedule: parseScheduleKey(key) };
      const { tokens, positions } = await scoreResponse(engine, promptIds, responseIds, scoring);
      const errors = scoreErrors(
        tokens.map(({ scores }) => scores.adversarial!),
        expected.adversarial,
      );
      expect(errors.p99, key).toBeLessThan(0.0005);
      expect(errors.all, key).toBeLessThan(0.002);
      expect(positions, key).toBe(expected.positions);
    }
  });

  it.each(cases)('case $i: greedy continuation', async ({ messages, promptIds, greedyIds }) => {
    expect(encodePrompt(engine.checkpoint, messages)).toEqual(promptIds);
    const generation = await engine.generate({
      promptIds,
      maxTokens: greedyIds.length,
      endIds: [],
      stop: [],
      topLogprobs: 0,
      sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
    });
    const ids: number[] = [];
    for (let item = await generation.next(); item.type !== 'end'; item = await generation.next())
      ids.push(item.id);
    expect(ids).toEqual(greedyIds);
  });
});
