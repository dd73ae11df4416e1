import { describe, expect, it } from 'vitest';
import { type EvaluationRule, evaluate, type Records } from '#bench/evaluate/evaluate.js';
import type { CheckRecord, LocatedRecord, ScoreRecord, TimeRecord } from '#bench/records/records.js';
import { responseSteps } from '#bench/steps/response-steps.js';
import { byId, inTurn, problemOf, responseOf } from '../../support/bench-records.js';

const TOKENS = ['One', '.\n', 'Two', '.\n', 'Three', '.'];
/** Of the second step. */
const TWO: [number, number] = [5, 9];

interface Given {
  readonly id: string;
  readonly subset: string;
  /** Where it is wrong, or why that is not known; `null` for a right one. */
  readonly wrong: [number, number] | 'no_match' | null;
  readonly adversarial: (number | null)[];
  readonly nll: number[];
  readonly graph: number[];
  readonly truncated?: boolean;
}

const HIT = [0, 0, 5, 1, 0, 0];
const MISS = [9, 8, 1, 0, 7, 6];

const GIVEN: readonly Given[] = [
  { id: 'a1', subset: 'a', wrong: TWO, adversarial: HIT, nll: MISS, graph: [1, 1, 1] },
  { id: 'a2', subset: 'a', wrong: null, adversarial: [0, 0, 0, 1, 0, 0], nll: MISS, graph: [0, 2, 0] },
  {
    id: 'a3',
    subset: 'a',
    wrong: [0, 8],
    adversarial: [null, 3, null, null, 2, null],
    nll: HIT,
    graph: [3, 1, 2],
  },
  { id: 'b1', subset: 'b', wrong: TWO, adversarial: MISS, nll: HIT, graph: [0, 1, 1] },
  { id: 'b2', subset: 'b', wrong: 'no_match', adversarial: HIT, nll: HIT, graph: [0, 0, 0] },
  { id: 'b3', subset: 'b', wrong: null, adversarial: HIT, nll: MISS, graph: [0, 0, 0], truncated: true },
];

const TIMES: TimeRecord[] = [
  { id: 'a1', tokens: 6, generation: 2, measures: { adversarial: 1, nll: 0.5 }, memory: { nll: 7 } },
  { id: 'a2', tokens: 6, generation: 4, measures: { adversarial: 3, nll: 0.5 }, memory: { nll: 5 } },
];

function recordsOf(given: readonly Given[], scored = given): Records {
  const responses = given.map(({ id, subset, truncated }) =>
    responseOf(id, TOKENS, { subset, finish: truncated ? 'length' : 'stop' }),
  );
  const checks = given.map(
    ({ id, wrong }): CheckRecord => ({ id, extracted: '5', correct: wrong === null, by: 'rules' }),
  );
  const located = given.flatMap(({ id, wrong }): LocatedRecord[] =>
    wrong === null
      ? []
      : [{ id, by: 'judge', ...(wrong === 'no_match' ? { span: null, rejected: wrong } : { span: wrong }) }],
  );
  const scores = scored.map(
    ({ id, adversarial, nll, graph }): ScoreRecord => ({
      id,
      steps: [],
      tokens: { adversarial, nll },
      stepScores: { graph },
      response: {},
    }),
  );
  return {
    problems: given.map(({ id, subset }) => problemOf(id, { subset, reference: '4' })),
    responses: byId(responses),
    checks: byId(checks),
    located: byId(located),
    scores: inTurn(scores),
    times: TIMES,
  };
}

const RULE: EvaluationRule = {
  scored: 'all',
  perSubset: null,
  measures: ['adversarial', 'nll', 'graph'],
  leaveOneOut: false,
  stepsOf: (_, { tokenTexts }) => responseSteps(tokenTexts, 'sentence'),
  bootstrap: { resamples: 200, seed: 1 },
};

const tables = await evaluate(recordsOf(GIVEN), RULE);
const token = (scope: string, measure: string) =>
  tables.tokens.find((row) => row.scope === scope && row.measure === measure)!;
const step = (scope: string, measure: string, aggregation: string) =>
  tables.steps.find(
    (row) => row.scope === scope && row.measure === measure && row.aggregation === aggregation,
  )!;

describe('evaluate', () => {
  it('leaves unsure answers out of all but their counts', async () => {
    const records = recordsOf(GIVEN);
    const checks = new Map(GIVEN.map(({ id }) => [id, records.checks.get(id)!]));
    checks.set('b1', { ...checks.get('b1')!, correct: null, kind: 'date' });
    const { counts, answers, responses } = await evaluate({ ...records, checks }, RULE);
    expect(counts[0]).toMatchObject({ correct: 1, wrong: 3, unsure: 1, kinds: { date: 1 } });
    expect(counts[0]!.accuracy.value).toBe(1 / 4);
    expect([answers!.n, responses[0]!.n]).toEqual([4, 4]);
  });

  it('counts what became of the problems, cut off responses apart', () => {
    expect(tables.counts.map(({ accuracy, ...counts }) => ({ ...counts, accuracy: accuracy.value }))).toEqual(
      [
        {
          scope: 'all',
          problems: 6,
          given: 0,
          truncated: 1,
          correct: 1,
          wrong: 4,
          unsure: 0,
          kinds: {},
          labelledBy: { rules: 5 },
          located: 3,
          rejected: { no_match: 1 },
          spanning: 1,
          accuracy: 1 / 5,
        },
        {
          scope: 'a',
          problems: 3,
          given: 0,
          truncated: 0,
          correct: 1,
          wrong: 2,
          unsure: 0,
          kinds: {},
          labelledBy: { rules: 3 },
          located: 2,
          rejected: {},
          spanning: 1,
          accuracy: 1 / 3,
        },
        {
          scope: 'b',
          problems: 3,
          given: 0,
          truncated: 1,
          correct: 0,
          wrong: 2,
          unsure: 0,
          kinds: {},
          labelledBy: { rules: 2 },
          located: 1,
          rejected: { no_match: 1 },
          spanning: 0,
          accuracy: 0,
        },
      ],
    );
  });

  it('tells whether the first wrong step holds one of the highest tokens', () => {
    // Of a3 the wrong step is tokens 0 to 3, whose second scores most, unattacked ones being 0.
    expect(token('all', 'adversarial')).toMatchObject({
      n: 3,
      top3: { value: 2 / 3 },
      top1pct: { value: 2 / 3 },
    });
    expect(token('a', 'adversarial').top3.value).toBe(1);
    expect(token('b', 'adversarial').top3.value).toBe(0);
    // The fifth highest of MISS is within its wrong step, and not the lowest.
    expect(token('b', 'adversarial').top5.value).toBe(1);
    // 1 − C(4, 3) / C(6, 3), and with a wrong step of three tokens 1 − C(3, 3) / C(6, 3).
    expect(token('b', 'chance').top3).toEqual({ value: expect.closeTo(0.8, 12), interval: null });
    expect(token('a', 'chance').top3.value).toBeCloseTo((0.8 + 0.95) / 2, 12);
    expect(tables.tokens.some(({ measure }) => measure === 'graph')).toBe(false);
  });

  it('tells how often first tokens of steps would hit', () => {
    // One of three steps, then all of them.
    expect(token('b', 'first')).toMatchObject({
      top3: { value: 1, interval: null },
      top1pct: { value: expect.closeTo(1 / 3, 12) },
      innerTop3: { value: null },
    });
  });

  it('tells it also without the first word of each step', async () => {
    // What is left are the full stops, the wrong step's being the second of three.
    const ofStops = async (first: number, second: number, third: number) => {
      const adversarial = [9, first, 9, second, 9, third];
      const { tokens } = await evaluate(recordsOf([{ ...GIVEN[0]!, adversarial }]), RULE);
      return tokens.find(({ scope, measure }) => scope === 'all' && measure === 'adversarial');
    };
    expect(await ofStops(1, 2, 0)).toMatchObject({ innerTop3: { value: 1 }, innerTop1pct: { value: 1 } });
    expect(await ofStops(2, 1, 0)).toMatchObject({ innerTop3: { value: 1 }, innerTop1pct: { value: 0 } });
    expect(await ofStops(2, 0, 1)).toMatchObject({ innerTop3: { value: 0 }, top3: { value: 1 } });
    expect(token('b', 'chance').innerTop1pct.value).toBeCloseTo(1 / 3, 12);
    expect(token('b', 'chance').innerTop3.value).toBe(1);
    // The last token is not in the second of three steps, but one of the last three is.
    expect(token('b', 'position')).toMatchObject({ top3: { value: 1 }, top1pct: { value: 0 } });
  });

  it('ranks steps by what their tokens come to, ties being broken at random', () => {
    expect(step('all', 'adversarial', 'sum').top1.value).toBeCloseTo(2 / 3, 12);
    expect(step('b', 'adversarial', 'max')).toMatchObject({
      top1: { value: 0 },
      top2: { value: 0 },
      top3: { value: 1 },
    });
    // Three alike, the highest of three, and two alike.
    expect(step('all', 'graph', 'own').top1.value).toBeCloseTo((1 / 3 + 1 + 1 / 2) / 3, 12);
    expect(step('all', 'longest', 'own').top1.value).toBeCloseTo(1 / 3, 12);
    expect(step('b', 'position', 'own')).toMatchObject({ top1: { value: 0 }, top2: { value: 1 } });
    expect(step('all', 'chance', 'own')).toMatchObject({
      top2: { value: expect.closeTo(2 / 3, 12), interval: null },
    });
  });

  it('has means over the subsets, each weighing alike', () => {
    expect(token('macro', 'adversarial')).toMatchObject({ n: 3, top3: { value: 0.5 } });
    expect(tables.tokens.map(({ scope }) => scope)).not.toContain('macro without a');
  });

  it('has them without each one where a subset too many is known', async () => {
    const { tokens } = await evaluate(recordsOf(GIVEN), { ...RULE, leaveOneOut: true });
    const row = tokens.find(({ scope, measure }) => scope === 'macro without b' && measure === 'adversarial');
    expect(row).toMatchObject({ n: 2, top3: { value: 1 } });
  });

  it('tells wrong responses from right ones in the ratio in which they come', () => {
    const row = tables.responses.find(
      ({ scope, measure, aggregation }) =>
        scope === 'all' && measure === 'adversarial' && aggregation === 'sum',
    );
    // Sums: wrong 6, 5, 31, 6; right 1.
    expect(row).toMatchObject({ n: 5, positives: 4, auroc: { value: 1 }, averagePrecision: { value: 1 } });
    const chance = tables.responses.find(({ scope, measure }) => scope === 'all' && measure === 'chance');
    expect(chance).toMatchObject({ auroc: { value: 0.5 }, averagePrecision: { value: 0.8 } });
  });

  it('pools steps up to the first wrong one, of responses whose first wrong one is known', () => {
    const row = tables.pooled.find(({ scope, measure }) => scope === 'all' && measure === 'graph');
    // a1: two steps, a2: three, a3: one, b1: two.
    expect(row).toMatchObject({ aggregation: 'own', steps: 8, positives: 3 });
  });

  it('compares with the main measure on the same cases, by a test that fits', () => {
    const pair = (level: string, b: string, metric: string) =>
      tables.paired.find((row) => row.level === level && row.b === b && row.metric === metric);
    expect(pair('token', 'nll', 'top3')).toMatchObject({
      a: 'adversarial',
      aggregation: null,
      n: 3,
      test: 'mcnemar',
      p: 1,
      adjusted: 1,
      tests: 1,
      difference: { value: 0 },
    });
    expect(pair('step', 'graph', 'top1')).toMatchObject({ aggregation: 'own', test: 'bootstrap', tests: 4 });
    expect(pair('response', 'nll', 'auroc')?.test).toBe('bootstrap');
    expect(tables.paired.some(({ b }) => b === 'chance' || b === 'adversarial')).toBe(false);
  });

  it('gives the added time as a share of the time to write, and the most memory', () => {
    expect(tables.efficiency).toEqual([
      expect.objectContaining({
        measure: 'adversarial',
        n: 2,
        seconds: expect.objectContaining({ value: 2 }),
        relative: expect.objectContaining({ value: 4 / 6 }),
        memory: null,
      }),
      expect.objectContaining({
        measure: 'nll',
        memory: 7,
        seconds: expect.objectContaining({ value: 0.5 }),
      }),
    ]);
  });

  it('tells the best score of the answers', () => {
    expect(tables.answers).toMatchObject({ n: 5, wrong: 4, best: { measure: 'adversarial', of: 6 } });
  });

  it('tells nothing of the answers where only wrong ones are scored', async () => {
    const { answers, responses } = await evaluate(recordsOf(GIVEN), { ...RULE, scored: 'wrong' });
    expect([answers, responses]).toEqual([null, []]);
  });

  it('has no table by token or step where each answer is a single step: the wrong one is always found', async () => {
    const stepsOf: EvaluationRule['stepsOf'] = (_, { tokenTexts }) => [
      { span: [0, tokenTexts.join('').length], tokens: { start: 0, end: tokenTexts.length } },
    ];
    const given = GIVEN.map((one) => ({ ...one, graph: [1] }));
    const single = await evaluate(recordsOf(given), { ...RULE, stepsOf });
    expect(single).toMatchObject({ singleStep: true, tokens: [], steps: [], pooled: [], answers: { n: 5 } });
    expect([...new Set(single.paired.map(({ level }) => level))]).toEqual(['response']);
    expect(tables.singleStep).toBe(false);
  });

  it('compares no pair of which there is nothing to compare', async () => {
    const { paired } = await evaluate(recordsOf(GIVEN.map((one) => ({ ...one, wrong: null }))), RULE);
    expect(paired).toEqual([]);
  });

  it('does not depend on the order in which scores came', async () => {
    expect(await evaluate(recordsOf(GIVEN, GIVEN.toReversed()), RULE)).toEqual(tables);
  });

  it('refuses scores that are not of all measures, steps and tokens', async () => {
    const refuse = (change: Partial<Given>, measures = RULE.measures) =>
      expect(evaluate(recordsOf([{ ...GIVEN[0]!, ...change }, ...GIVEN.slice(1)]), { ...RULE, measures }))
        .rejects;
    await refuse({}, ['adversarial', 'ccp']).toThrow('a1: has no scores of ccp');
    await refuse({ graph: [1, 2] }).toThrow('a1: has 2 scores of graph for 3 steps');
    await refuse({ nll: [1, 2] }).toThrow('a1: has 2 scores of nll for 6 tokens');
  });
});
