import { expect, it } from 'vitest';
import { type Engine, type Method, type Schedule, scoreResponse } from '#src/index.js';
import { type GoldenCase, largestDifference, parseScheduleKey, scoreErrors } from './golden.js';

/**
 * Largest differences. Those of `adversarial` are shares of the largest score, for 99 % of the tokens; the limit for
 * all tokens is four times as large.
 */
export interface Tolerances {
  readonly logprob: number;
  readonly entropy: number;
  readonly margin: number;
  readonly adversarial: number;
  /** Tolerance at α = 10⁻⁴, where the difference is one of nearly equal numbers. */
  readonly adversarialSmall: number;
}

/** Tolerances of fp32 on the fixtures. */
export const FP32: Tolerances = {
  logprob: 1e-4,
  entropy: 1e-3,
  margin: 1e-3,
  adversarial: 0.0005,
  adversarialSmall: 0.005,
};

/**
 * The tests of all values that a pass computes, of each case.
 * @param methods that are computed along with the probabilities
 */
export function goldenTests(
  engine: () => Engine,
  goldens: readonly GoldenCase[],
  methods: readonly Method[],
  within = FP32,
): void {
  const cases = goldens.map((golden, i) => ({ ...golden, i }));
  const offline: Schedule = { kind: 'offline' };

  it.each(cases)('case $i: probabilities', async ({ promptIds, responseIds, logprob, entropy, margin }) => {
    const scoring = { methods, alpha: 1e-4, schedule: offline };
    const { tokens, positions } = await scoreResponse(engine(), promptIds, responseIds, scoring);
    expect(positions).toBe(promptIds.length + responseIds.length - 1);
    expect(tokens.map(({ index }) => index)).toEqual(responseIds.map((_, i) => i));
    expect(tokens.map(({ id }) => id)).toEqual(responseIds);
    const differences = {
      logprob: largestDifference(
        tokens.map((token) => token.logprob),
        logprob,
      ),
      nll: largestDifference(
        tokens.map(({ scores }) => -scores.nll!),
        logprob,
      ),
      entropy: largestDifference(
        tokens.map(({ scores }) => scores.entropy!),
        entropy,
      ),
      margin: largestDifference(
        tokens.map(({ scores }) => scores.margin!),
        margin,
      ),
    };
    expect(differences.logprob).toBeLessThan(within.logprob);
    expect(differences.nll).toBeLessThan(within.logprob);
    expect(differences.entropy).toBeLessThan(within.entropy);
    expect(differences.margin).toBeLessThan(within.margin);
  });

  it.each(cases)(
    'case $i: adversarial, offline',
    async ({ promptIds, responseIds, alpha, adv, advAlpha1em4 }) => {
      for (const [step, expected, p99] of [
        [alpha, adv, within.adversarial] as const,
        [1e-4, advAlpha1em4, within.adversarialSmall] as const,
      ]) {
        const scoring = { methods: ['adversarial'] as const, alpha: step, schedule: offline };
        const { tokens } = await scoreResponse(engine(), promptIds, responseIds, scoring);
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
      const { tokens, positions } = await scoreResponse(engine(), promptIds, responseIds, scoring);
      const errors = scoreErrors(
        tokens.map(({ scores }) => scores.adversarial!),
        expected.adversarial,
      );
      expect(errors.p99, key).toBeLessThan(within.adversarial);
      expect(errors.all, key).toBeLessThan(4 * within.adversarial);
      expect(positions, key).toBe(expected.positions);
    }
  });
}

/** The most probable continuation, whatever would end it. */
export async function greedyIds(
  engine: Engine,
  promptIds: readonly number[],
  count: number,
): Promise<number[]> {
  const generation = await engine.generate({
    promptIds,
    maxTokens: count,
    endIds: [],
    stop: [],
    topLogprobs: 0,
    sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
  });
  const ids: number[] = [];
  for (let item = await generation.next(); item.type !== 'end'; item = await generation.next())
    ids.push(item.id);
  return ids;
}
