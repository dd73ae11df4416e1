import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScoredCase } from '#bench/evaluate/case.js';
import { type Detector, stepDetectors } from '#bench/evaluate/detection.js';
import { percentileInterval } from '#bench/statistics/bootstrap.js';

/** A response that is known by the scores and lengths of its steps. */
function response(scores: readonly number[], firstWrong: number | null, lengths = scores): ScoredCase {
  const digest = (steps: readonly number[]) => ({
    hits: null,
    steps: new Map([['own' as const, steps]]),
    response: new Map(),
  });
  return {
    id: '',
    subset: '',
    correct: firstWrong === null,
    wrong: firstWrong !== null,
    firstWrong,
    steps: scores.length,
    chance: null,
    first: null,
    measures: new Map([
      ['graph', digest(scores)],
      ['longest', digest(lengths)],
    ]),
  };
}

const find = (cases: readonly ScoredCase[], measure: string): Detector =>
  stepDetectors(cases, ['graph', 'longest'], { resamples: 200 }).find((one) => one.measure === measure)!;
const areas = (cases: readonly ScoredCase[], measure = 'graph') => {
  const { auroc, averagePrecision } = find(cases, measure);
  return [auroc, averagePrecision].map((area) => percentileInterval(area).value);
};

describe('stepDetectors', () => {
  const cases = [
    response([2, 6, 5, 9], 2, [2, 4, 2, 1]),
    response([3, 6], null, [1, 3]),
    response([4, 6], 1, [2, 2]),
  ];

  it('pools right steps and first wrong ones, and leaves out those after', () => {
    // Wrong steps have 5 and 6, right ones 2, 3, 4, 6 and 6.
    expect(areas(cases)).toEqual([7 / 10, expect.closeTo((1 / 3 + 2 / 4) / 2, 12)]);
  });

  it('compares with the length of steps, and with chance', () => {
    // Wrong steps have two tokens each, right ones 2, 4, 1, 3 and 2.
    expect(areas(cases, 'longest')).toEqual([4 / 10, expect.closeTo(2 / 6, 12)]);
    expect(areas(cases, 'chance')).toEqual([0.5, 2 / 7]);
  });

  it('draws whole responses for its intervals: copies of steps within them tell nothing new', () => {
    // Few right ones: what is known of them, not how many steps they have, makes the interval.
    const sample = (copies: number) =>
      Array.from({ length: 90 }, (_, i) => {
        const right = i % 3 === 0;
        const scores = Array.from({ length: right ? copies : 1 }, () => Math.sin(i * i));
        return response(scores, right ? null : 0);
      });
    const width = (cases: readonly ScoredCase[]): number => {
      const [low, high] = percentileInterval(find(cases, 'graph').auroc).interval!;
      return high - low;
    };
    expect(width(sample(1))).toBeGreaterThan(0.1);
    expect(width(sample(20))).toBeCloseTo(width(sample(1)), 9);
  });

  it('finds what was put there, and only that', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(4), { minLength: 2, maxLength: 20 }), (wrongs) => {
        const cases = wrongs.map((wrong, i) =>
          response(
            Array.from({ length: 5 }, (_, step) => (step === wrong && i > 0 ? 2 : 1)),
            i > 0 ? wrong : null,
            [1, 1, 1, 1, 1],
          ),
        );
        expect(areas(cases)).toEqual([1, 1]);
        expect(areas(cases, 'longest')[0]).toBe(0.5);
      }),
      { numRuns: 20 },
    );
  });

  it('has no areas without a wrong step', () => {
    expect(areas([cases[1]!])[0]).toBeNaN();
  });

  it('refuses a response without the scores of a measure', () => {
    const { measures, ...rest } = cases[1]!;
    const [longest] = [...measures].slice(1);
    expect(() => find([cases[0]!, { ...rest, measures: new Map([longest!]) }], 'graph')).toThrow(
      'has no score of graph',
    );
  });
});
