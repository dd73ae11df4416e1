import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { areas } from '#bench/statistics/areas.js';
import { type Ranking, rank } from '#bench/statistics/ranking.js';

/** Scores with ties; the areas are those of scikit-learn. */
const SCORES = [0.9, 0.8, 0.8, 0.3, 0.2, 0.2, 0.1];
const POSITIVE = [true, false, true, false, false, true, false];

const examples = fc.array(
  fc.record({ score: fc.integer({ min: 0, max: 8 }), positive: fc.boolean(), weight: fc.nat(3) }),
  { minLength: 1, maxLength: 30 },
);
const ranking = (all: readonly { readonly score: number; readonly positive: boolean }[]) =>
  rank(
    all.map(({ score }) => score),
    all.map(({ positive }) => positive),
  );

/** NaN equals NaN. */
const about = (value: number) => (Number.isNaN(value) ? value : expect.closeTo(value, 12));

const auroc = (ranking: Ranking, weights?: Uint32Array) => areas(ranking, weights).auroc;
const averagePrecision = (ranking: Ranking, weights?: Uint32Array) =>
  areas(ranking, weights).averagePrecision;

describe('auroc', () => {
  it('is what scikit-learn gives', () => {
    expect(auroc(rank(SCORES, POSITIVE))).toBeCloseTo(0.75, 12);
  });

  it('counts the pairs that are in order, ties by half', () => {
    fc.assert(
      fc.property(examples, (all) => {
        const [positives, negatives] = [true, false].map((kind) =>
          all.filter((one) => one.positive === kind),
        );
        const pairs = positives!.flatMap((a) =>
          negatives!.map((b) => (Math.sign(a.score - b.score) + 1) / 2),
        );
        const won = pairs.reduce((sum, one) => sum + one, 0) / pairs.length;
        expect(auroc(ranking(all))).toEqual(about(won));
      }),
    );
  });

  it('is 1/2 where nothing is told apart, and undefined without both kinds', () => {
    expect(auroc(rank([3, 3, 3], [true, false, false]))).toBe(0.5);
    expect(auroc(rank([1, 2], [true, true]))).toBeNaN();
    expect(auroc(rank([1, 2], [false, false]))).toBeNaN();
  });
});

describe('averagePrecision', () => {
  it('is what scikit-learn gives', () => {
    expect(averagePrecision(rank(SCORES, POSITIVE))).toBeCloseTo(0.7222222222222222, 12);
  });

  it('is the share of positives where nothing is told apart, and undefined without them', () => {
    expect(averagePrecision(rank([3, 3, 3, 3], [true, false, false, false]))).toBe(0.25);
    expect(averagePrecision(rank([2, 1], [true, false]))).toBe(1);
    expect(averagePrecision(rank([1, 2], [true, false]))).toBe(0.5);
    expect(averagePrecision(rank([1, 2], [false, false]))).toBeNaN();
  });
});

describe('weights', () => {
  it('are as if each example were there so often', () => {
    fc.assert(
      fc.property(examples, (all) => {
        const repeated = all.flatMap((one) => Array.from({ length: one.weight }, () => one));
        const weights = Uint32Array.from(all, ({ weight }) => weight);
        expect(auroc(ranking(all), weights)).toEqual(about(auroc(ranking(repeated))));
        expect(averagePrecision(ranking(all), weights)).toEqual(about(averagePrecision(ranking(repeated))));
      }),
    );
  });
});

describe('rank', () => {
  it('refuses what cannot be ranked', () => {
    expect(() => rank([1, Number.NaN], [true, false])).toThrow('a score is NaN');
    expect(() => rank([1], [true, false])).toThrow('1 scores, but 2 labels');
  });
});
