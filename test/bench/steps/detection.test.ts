import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectWrongSteps } from '#src/bench/steps/detection.js';
import { formatDetection } from '#src/bench/steps/detection-report.js';
import type { StepAnswer } from '#src/bench/steps/step-answer.js';

/** An answer of which each step is given by the scores of its tokens. */
function answer(task: string, steps: readonly (readonly (number | null)[])[], firstWrong: number | null) {
  const before = (step: number): number => steps.slice(0, step).flat().length;
  const ranges = steps.map((_, i) => ({ start: before(i), end: before(i + 1) }));
  return { task, steps: ranges, firstWrong, scores: new Map([['nll', steps.flat()]]) } satisfies StepAnswer;
}

const ANSWERS = [
  answer('navigate', [[1, 1], [2, 0, 0, 0], [0, 5], [9]], 2),
  answer('navigate', [[3], [1, 2, 3]], null),
  answer(
    'arithmetic',
    [
      [4, 0],
      [null, 6],
    ],
    1,
  ),
];

const find = (answers: readonly StepAnswer[], scope: string) => {
  const [detection] = detectWrongSteps(answers, { resamples: 200 }).filter((one) => one.scope === scope);
  if (!detection) throw new Error(`no ${scope}`);
  const areas = (score: string, aggregation: string | null = null) => {
    const row = detection.rows.find((row) => row.score === score && row.aggregation === aggregation);
    return row && [row.auroc.value, row.averagePrecision.value];
  };
  return { ...detection, areas };
};

describe('detectWrongSteps', () => {
  const all = find(ANSWERS, 'all');

  it('pools right steps and first wrong ones, and leaves out those after', () => {
    expect(all).toMatchObject({ answers: 3, steps: 7, wrong: 2 });
    expect(find(ANSWERS, 'navigate')).toMatchObject({ answers: 2, steps: 5, wrong: 1 });
  });

  it('scores a step by its largest token, its mean or its sum', () => {
    // Wrong steps have 5 and 6, right ones 1, 2, 3, 3 and 4.
    expect(all.areas('nll', 'max')).toEqual([1, 1]);
    // Wrong 2.5 and 3; right 1, 0.5, 3, 2 and 2: eight of ten pairs are won and one is tied.
    expect(all.areas('nll', 'mean')).toEqual([8.5 / 10, expect.closeTo((1 / 2 + 2 / 3) / 2, 12)]);
    // Wrong 5 and 6; right 2, 2, 3, 6 and 4: the same order.
    expect(all.areas('nll', 'sum')).toEqual([8.5 / 10, expect.closeTo((1 / 2 + 2 / 3) / 2, 12)]);
  });

  it('compares with the length of steps, and with chance', () => {
    // Wrong steps have two tokens each, right ones 2, 4, 1, 3 and 2.
    expect(all.areas('longest step')).toEqual([4 / 10, expect.closeTo(2 / 6, 12)]);
    expect(all.areas('chance')).toEqual([0.5, 2 / 7]);
  });

  it('keeps families apart', () => {
    const families = detectWrongSteps(ANSWERS, { resamples: 10 }).map(({ scope }) => scope);
    expect(families).toEqual(['all', 'navigate', 'arithmetic']);
    // Wrong 5; right 2, 2, 3 and 6.
    expect(find(ANSWERS, 'navigate').areas('nll', 'sum')).toEqual([3 / 4, 1 / 2]);
  });

  it('counts in how many answers the wrong step holds the highest tokens of the whole response', () => {
    const [nll, chance] = all.hits;
    expect(nll).toMatchObject({ top1: { value: 1 / 2 }, top3: { value: 1 } });
    const [first, third] = [(2 / 9 + 2 / 4) / 2, (1 - (7 * 6 * 5) / (9 * 8 * 7) + 1) / 2];
    expect(chance).toEqual({
      score: 'chance',
      top1: { value: expect.closeTo(first, 12), interval: null },
      top3: { value: expect.closeTo(third, 12), interval: null },
    });
  });

  it('draws whole answers for its intervals: copies of steps within them tell nothing new', () => {
    // Few right answers: what is known of them, not how many steps they have, makes the interval.
    const sample = (copies: number) =>
      Array.from({ length: 90 }, (_, i) => {
        const right = i % 3 === 0;
        const steps = Array.from({ length: right ? copies : 1 }, () => [Math.sin(i * i)]);
        return answer('a', steps, right ? null : 0);
      });
    const width = (answers: readonly StepAnswer[]): number => {
      const [low, high] = find(answers, 'all').rows[0]!.auroc.interval!;
      return high - low;
    };
    expect(width(sample(1))).toBeGreaterThan(0.1);
    expect(width(sample(20))).toBeCloseTo(width(sample(1)), 9);
  });

  it('finds what was put there, and only that', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(4), { minLength: 2, maxLength: 20 }), (wrongs) => {
        const answers = wrongs.map((wrong, i) =>
          answer(
            'a',
            Array.from({ length: 5 }, (_, step) => [0, step === wrong && i > 0 ? 2 : 1]),
            i > 0 ? wrong : null,
          ),
        );
        const { areas, wrong } = find(answers, 'all');
        expect(wrong).toBe(wrongs.length - 1);
        expect(areas('nll', 'max')).toEqual([1, 1]);
        expect(areas('longest step')![0]).toBe(0.5);
      }),
      { numRuns: 20 },
    );
  });

  it('has no areas without a wrong step', () => {
    const { rows, hits } = find([ANSWERS[1]!], 'all');
    expect(rows[0]!.auroc).toEqual({ value: Number.NaN, interval: null });
    expect(hits[0]!.top1.value).toBeNaN();
  });

  it('refuses answers that do not fit', () => {
    const [first, second] = ANSWERS;
    expect(() => detectWrongSteps([first!, { ...second!, scores: new Map() }])).toThrow(
      'nll: no scores of an answer of 4 tokens',
    );
    expect(() => detectWrongSteps([{ ...first!, scores: new Map([['nll', [1, 2]]]) }])).toThrow(
      'nll: 2 scores of an answer of 9 tokens',
    );
    expect(() => detectWrongSteps([{ ...first!, firstWrong: 4 }])).toThrow(
      'step 4 is wrong, but there are 4',
    );
    const steps = [{ start: 3, end: 3 }, ...first!.steps];
    expect(() => detectWrongSteps([{ ...first!, steps }])).toThrow('a step of no token, at 3');
  });
});

describe('formatDetection', () => {
  it('is two tables for each scope', () => {
    const text = formatDetection(detectWrongSteps(ANSWERS, { resamples: 100 }));
    expect(text).toContain('all: 3 answers, 7 steps, 2 of them the first wrong one\n\n| score ');
    expect(text).toMatch(/\| nll +\| +max \| +1\.000 \[1\.000, 1\.000\] \| /);
    expect(text).toMatch(/\| chance +\| +\| +0\.500 \[0\.500, 0\.500\] \| +0\.286 \[/);
    expect(text).toMatch(/\| nll +\| +0\.50 \[0\.09, 0\.91\] \| +1\.00 \[0\.34, 1\.00\] \|/);
    expect(text.match(/\| score /g)).toHaveLength(3);
  });
});
