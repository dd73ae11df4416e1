import { describe, expect, it } from 'vitest';
import type { ScoredCase } from '#bench/evaluate/case.js';
import { type ComparedRun, compareRuns } from '#bench/evaluate/compare-runs.js';

const OPTIONS = { seed: 1, resamples: 200 };

const run = (rights: readonly boolean[], score: (i: number) => number, skip = 0): ComparedRun => ({
  right: new Map(rights.map((right, i) => [`q${i}`, right] as const).slice(skip)),
  cases: rights
    .map(
      (correct, i): ScoredCase => ({
        ...{ id: `q${i}`, subset: 's', correct, wrong: false, firstWrong: null, steps: 1, chance: null },
        first: null,
        measures: new Map([
          ['nll', { hits: null, steps: new Map(), response: new Map([['mean', score(i)]]) }],
        ]),
      }),
    )
    .slice(skip),
});
const RIGHT = Array.from({ length: 40 }, (_, i) => i % 4 !== 0);

describe('two runs', () => {
  it('differ by as many answers as one alone has right', () => {
    // Ten more are right, of 40, and none less: McNemar's p is 2 · 2^-10.
    const [accuracy] = compareRuns(
      run(RIGHT, (i) => i),
      run(
        RIGHT.map(() => true),
        (i) => i,
      ),
      OPTIONS,
    );
    expect(accuracy).toMatchObject({ score: null, n: 40, first: { value: 0.75 }, second: { value: 1 } });
    expect(accuracy!.difference.value).toBeCloseTo(0.25, 12);
    expect(accuracy!.p).toBeCloseTo(2 / 1024, 12);
    expect(accuracy!.difference.interval![0]).toBeGreaterThan(0);
  });

  it('are compared on the questions that both have, each by its own answers', () => {
    const best = (i: number): number => (i % 4 === 0 ? 1 : 0);
    const [accuracy, auroc] = compareRuns(
      run(RIGHT, best),
      run(RIGHT, (i) => -best(i), 20),
      OPTIONS,
    );
    expect([accuracy!.n, auroc!.n]).toEqual([20, 20]);
    expect(accuracy!.difference.value).toBe(0);
    expect(auroc).toMatchObject({
      score: { measure: 'nll', aggregation: 'mean' },
      ...{ first: { value: 1 }, second: { value: 0 }, difference: { value: -1, interval: [-1, -1] } },
    });
  });

  it('of which one has no wrong answer have no AUROC', () => {
    const right = RIGHT.map(() => true);
    expect(
      compareRuns(
        run(RIGHT, (i) => i),
        run(right, (i) => i),
        OPTIONS,
      ),
    ).toHaveLength(1);
  });
});
