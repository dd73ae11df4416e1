import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Comparison, scoreAnswer, summarize } from '#lab/schedules/compare.js';
import { REFERENCES, VARIANTS } from '#lab/schedules/variants.js';
import { Engine } from '#src/index.js';
import { checkpointFolder, goldenCases } from '../../support/golden.js';

const variants = VARIANTS.filter(({ name }) => REFERENCES.some((reference) => reference === name));

describe('schedules of one answer', () => {
  let engine: Engine;
  let comparison: Comparison;
  const { promptIds, responseIds, adv } = goldenCases('tiny-llama')[0]!;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder('tiny-llama'));
    comparison = await scoreAnswer(engine, { promptIds, ids: responseIds }, variants);
  });
  afterAll(async () => {
    await engine.close();
  });

  it('agree with themselves, and less with each other', () => {
    const results = summarize(variants, [comparison]);
    expect(results.map(({ name }) => name)).toEqual([...REFERENCES]);
    for (const { name, agreement } of results) {
      for (const [reference, { spearman, top }] of Object.entries(agreement)) {
        if (reference === name) expect({ spearman, top }).toEqual({ spearman: expect.closeTo(1, 9), top: 1 });
        else expect(spearman).toBeLessThan(1 - 1e-9);
      }
    }
  });

  it('cost what their passes cover', () => {
    const [offline, exact] = summarize(variants, [comparison]);
    const [prompt, response] = [promptIds.length, responseIds.length];
    expect(offline).toMatchObject({ attacked: 1, positionsPerToken: (prompt + response - 1) / response });
    // Block 1, window all: pass i covers the prompt and i tokens of the response.
    expect(exact?.positionsPerToken).toBeCloseTo(prompt + (response - 1) / 2, 9);
    expect(comparison.get('offline')?.scores).toHaveLength(adv.length);
  });

  it('show which tokens were not attacked, and what of the reference is missed', () => {
    const standard = comparison.get('block 8, window 64')!;
    const scores = standard.scores.map((score, i) => (i % 2 === 0 ? score : null));
    const lazy: Comparison = new Map([...comparison, ['lazy', { ...standard, scores }]]);
    const [result] = summarize([{ name: 'lazy', schedule: { kind: 'offline' } }], [lazy]);
    expect(result!.attacked).toBeCloseTo(Math.ceil(scores.length / 2) / scores.length, 12);
    const { spearman, top } = result!.agreement['block 8, window 64'];
    expect(spearman).toBeCloseTo(1, 9);
    expect(top).toBeLessThan(1);
  });
});
