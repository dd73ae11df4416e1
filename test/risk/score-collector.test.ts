import { describe, expect, it } from 'vitest';
import { CalibratedRisk } from '#src/risk/calibrated-risk.js';
import type { Calibration } from '#src/risk/calibration.js';
import { FalseAlarmCheck } from '#src/risk/false-alarms.js';
import { MIN_OF_KIND, ScoreCollector, type ScoredAnswer, samplesOf } from '#src/risk/score-collector.js';
import { stepScore, type TextKind } from '#src/risk/step-score.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import type { Method } from '#src/uncertainty/method-names.js';
import { DEFAULT_SCORING } from '#src/uncertainty/settings.js';
import { aCalibration } from '../support/calibration.js';

const METHODS = ['adversarial', 'nll'] as const satisfies readonly Method[];
const SKIPPED = Number.NEGATIVE_INFINITY;

const answer: ScoredAnswer = {
  tokens: ['a', 'b', 'c', 'd', '4'].map((text) => ({ text })),
  scores: [
    { scores: { nll: 1, adversarial: 10 } },
    { scores: { nll: 3 } },
    { scores: { nll: 5 } },
    { scores: { nll: 2, adversarial: 30 } },
    { scores: { nll: 4, adversarial: 50 } },
  ],
  steps: [
    { from: 0, to: 2 },
    { from: 2, to: 3 },
    { from: 3, to: 5 },
  ],
};

/** The scores of its steps. */
const ofSteps = (nll: readonly number[][]): number[] => {
  const texts = [['a', 'b'], ['c'], ['d', '4']];
  return nll.map((scores, step) =>
    stepScore(
      scores.map((score, i) => ({ text: texts[step]![i]!, score })),
      step,
    ),
  );
};
const NLL_STEPS = ofSteps([[1, 3], [5], [2, 4]]);
const ADVERSARIAL_STEPS = ofSteps([[10], [], [30, 50]]);
/** The number counts twice. */
const NLL_ANSWER = (1 + 3 + 5 + 2 + 2 * 4) / Math.sqrt(6);

describe('samplesOf', () => {
  it('scores steps by those tokens that have a score', () => {
    expect(samplesOf(answer, 'nll').steps).toEqual(NLL_STEPS);
    expect(samplesOf(answer, 'nll').kinds).toEqual(['words', 'words', 'numbers']);
    const { tokens, steps } = samplesOf(answer, 'adversarial');
    expect(tokens.map(({ score }) => score)).toEqual([10, SKIPPED, SKIPPED, 30, 50]);
    expect(steps).toEqual(ADVERSARIAL_STEPS);
    expect(steps[1]).toBe(SKIPPED);
  });

  it('leaves out the steps that do not count, with their tokens', () => {
    const { tokens, steps } = samplesOf(answer, 'nll', 1);
    expect(tokens).toEqual([
      { index: 0, score: 1 },
      { index: 1, score: 3 },
    ]);
    expect(steps).toEqual(NLL_STEPS.slice(0, 1));
    expect(samplesOf(answer, 'nll', 0)).toEqual({ tokens: [], steps: [], kinds: [], scored: [] });
  });
});

describe('ScoreCollector', () => {
  it('makes distributions of all scores, and knows the share that was skipped', () => {
    const collector = new ScoreCollector(METHODS);
    for (let i = 0; i < 10; i++) collector.add(answer);
    expect(collector.counts).toEqual({ responses: 10, tokens: 50, steps: 30 });
    const { levels, methods } = collector.distributions();
    expect(levels.at(-1)).toBe(1);
    expect(methods.nll?.tokens).toMatchObject({ count: 50, skipped: 0 });
    expect(methods.nll?.tokens.quantiles.at(-1)).toBe(5);
    expect(methods.adversarial?.tokens).toMatchObject({ count: 50, skipped: 20 });
    expect(methods.adversarial?.steps.sum).toMatchObject({ count: 30, skipped: 10 });
    expect(methods.adversarial?.steps.sum.quantiles.at(-1)).toBeCloseTo(ADVERSARIAL_STEPS[2]!, 3);
  });

  it('compares steps with their kind, where there are enough of it', () => {
    const collector = new ScoreCollector(['nll']);
    for (let i = 0; i < MIN_OF_KIND.steps / 2; i++) collector.add(answer);
    const { levels, methods } = collector.distributions();
    expect(methods.nll?.steps).toMatchObject({ sum: { count: 300 }, words: { count: 200 } });
    expect(methods.nll?.steps).not.toHaveProperty('numbers');
    for (let i = 0; i < MIN_OF_KIND.steps / 2; i++) collector.add(answer);
    const all = collector.distributions().methods.nll!;
    expect(all.steps).toMatchObject({ sum: { count: 600 }, words: { count: 400 }, numbers: { count: 200 } });
    const calibration = aCalibration(DEFAULT_SCORING, ['nll']);
    const risks = new CalibratedRisk(new Map([['nll', { ...calibration, levels, methods: { nll: all } }]]));
    const score = NLL_STEPS[2]! - 0.1;
    const ranks = [undefined, 'words', 'numbers'].map((kind) =>
      risks.ofStep('nll', score, 'step', kind as TextKind | undefined),
    );
    expect(ranks).toEqual([expect.closeTo(2 / 3, 2), 400 / 401, 0]);
  });

  it('compares answers of one step with such answers', () => {
    const collector = new ScoreCollector(['nll']);
    const short = {
      tokens: answer.tokens.slice(0, 2),
      scores: answer.scores.slice(0, 2),
      steps: [{ from: 0, to: 2 }],
    };
    for (let i = 0; i < MIN_OF_KIND.answers; i++) for (const one of [short, answer]) collector.add(one);
    const { answers, steps } = collector.distributions().methods.nll!;
    expect(answers).toMatchObject({
      sum: { count: 2 * MIN_OF_KIND.answers },
      short: { count: MIN_OF_KIND.answers },
    });
    expect(steps).not.toHaveProperty('short');
  });

  it('ranks whole answers among those of which all counts', () => {
    const collector = new ScoreCollector(METHODS);
    for (let i = 0; i < 10; i++) collector.add(answer);
    for (let i = 0; i < 5; i++) collector.add(answer, 2);
    collector.add({ tokens: [], scores: [], steps: [] });
    const { nll, adversarial } = collector.distributions().methods;
    expect(nll?.answers?.sum).toMatchObject({ count: 10, skipped: 0 });
    expect(nll?.answers?.sum?.quantiles[0]).toBeCloseTo(NLL_ANSWER, 3);
    // Two tokens were skipped.
    expect(adversarial?.answers?.sum?.quantiles[0]).toBeCloseTo((10 + 30 + 2 * 50) / Math.sqrt(4), 3);
    expect(nll?.peaks?.sum).toMatchObject({ count: 10, skipped: 0 });
    expect(nll?.peaks?.sum.quantiles[0]).toBeCloseTo(NLL_STEPS[2]!, 3);
    expect(adversarial?.peaks?.sum.quantiles[0]).toBeCloseTo(ADVERSARIAL_STEPS[2]!, 3);
    // All of the other five: their last step, which did not count, has the scores 2 and 4.
    expect(nll?.all?.sum).toMatchObject({ count: 15, skipped: 0 });
    expect(nll?.all?.sum?.quantiles[0]).toBeCloseTo(NLL_ANSWER, 3);
    const partial = new ScoreCollector(METHODS);
    partial.add(answer, 2);
    expect(partial.distributions().methods.nll).not.toHaveProperty('answers');
    expect(partial.distributions().methods.nll).not.toHaveProperty('peaks');
    expect(partial.distributions().methods.nll?.all?.sum?.count).toBe(1);
    const ordinary = new ScoreCollector(METHODS);
    ordinary.add(answer);
    expect(ordinary.distributions().methods.nll).not.toHaveProperty('all');
  });

  it.each([
    ['mean', 3, 30], // of 1, 3, 5, 2 and 4; of 10, 30 and 50
    ['max', 5, 50],
  ] as const)('scores answers by the %s of the tokens that have a score', (statistic, nll, adversarial) => {
    const collector = new ScoreCollector(METHODS, statistic);
    collector.add(answer);
    collector.add(answer, 2);
    const { levels, methods } = collector.distributions();
    for (const [method, score] of [
      ['nll', nll],
      ['adversarial', adversarial],
    ] as const) {
      const made = methods[method]!;
      expect(made.statistic).toBe(statistic);
      expect(Object.keys(made.answers!)).toEqual([statistic]);
      expect(made.answers![statistic]).toMatchObject({ count: 1, quantiles: levels.map(() => score) });
      expect(made.all![statistic]!.count).toBe(2);
    }
    const settings = { schedule: { kind: 'windowed', block: 8, window: 64 }, alpha: 1e-4 } as const;
    const collected = { ...collector.counts, temperature: 1, topK: 0, topP: 1, seed: 0 };
    const calibration: Calibration = {
      ...{ stepRule: STEP_RULE_VERSION, settings, levels, methods },
      collected: { answers: 'right', ...collected },
    };
    const risks = new CalibratedRisk(new Map([['nll', calibration]]));
    expect(risks.statistic('nll')).toBe(statistic);
    expect([nll - 0.1, nll + 0.1].map((score) => risks.ofAnswer('nll', score))).toEqual([0, 1 / 2]);
  });

  it('refuses to make anything of nothing', () => {
    expect(() => new ScoreCollector(METHODS).distributions()).toThrow('no steps');
  });
});

/** Answers of 5 steps of 4 tokens; the scores depend on the answer, the later ones also on their position. */
function answers(count: number, seed: number): ScoredAnswer[] {
  let state = seed;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, () => {
    const mood = uniform();
    const scores = Array.from({ length: 20 }, (_, index) => ({
      scores: {
        nll: -Math.log(uniform()) * (index < 8 ? 3 : 1) + mood,
        ...(uniform() < 0.4 && { adversarial: uniform() ** 2 }),
      },
    }));
    const tokens = scores.map(() => ({ text: 'a' }));
    return { tokens, scores, steps: [0, 4, 8, 12, 16].map((from) => ({ from, to: from + 4 })) };
  });
}

describe('a calibration', () => {
  it('raises false alarms at its rate on answers that it has not seen, early in them and late', () => {
    const collector = new ScoreCollector(METHODS);
    for (const seen of answers(5000, 1)) collector.add(seen);
    const { levels, methods } = collector.distributions();
    expect(methods.nll?.positions.map(({ from }) => from)).toEqual([0, 8]);
    const calibration: Calibration = {
      stepRule: STEP_RULE_VERSION,
      settings: {},
      collected: { answers: 'all', ...collector.counts, temperature: 1, topK: 0, topP: 1, seed: 1 },
      levels,
      methods,
    };
    const risks = new CalibratedRisk(new Map(METHODS.map((method) => [method, calibration])));
    const check = new FalseAlarmCheck(risks, METHODS);
    for (const fresh of answers(5000, 2)) check.add(fresh);
    const table = check.table();
    expect(table.map(({ method, of, count }) => `${method} ${of} ${count}`)).toEqual([
      'adversarial token 100000',
      'adversarial step 25000',
      'adversarial any step of an answer 5000',
      'adversarial answer 5000',
      'nll token 100000',
      'nll step 25000',
      'nll any step of an answer 5000',
      'nll answer 5000',
    ]);
    for (const { of, rates } of table) {
      // Of 5000 answers 50 are flagged at the lowest rate, and as many lie above its threshold.
      const most = /^(answer|any)/.test(of) ? 0.5 : 0.2;
      for (const { target, measured, low, high } of rates) {
        expect(Math.abs(measured / target - 1)).toBeLessThan(most);
        expect(low).toBeLessThan(measured);
        expect(high).toBeGreaterThan(measured);
      }
    }
    expect(risks.calibrated('nll')).toBe(true);
    expect(risks.calibrated('random')).toBe(false);
    expect(risks.ofToken('random', 1, 0)).toBeNull();
    // The same score stands out more where scores are low.
    expect(risks.ofToken('nll', 6, 12)!).toBeGreaterThan(risks.ofToken('nll', 6, 2)!);
  });
});
