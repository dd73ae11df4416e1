import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rank } from '#bench/statistics/ranking.js';
import { keptRight, predictionRejectionRatio, wrongAmong } from '#bench/statistics/rejection.js';

const kept = (scores: readonly number[], wrong: readonly boolean[]): Float64Array =>
  keptRight(rank(scores, wrong));
const answers = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.boolean()), {
  minLength: 2,
  maxLength: 30,
});

/** PRR by its definition, without ties. */
function byHand(scores: readonly number[], wrong: readonly boolean[]): number {
  const n = scores.length;
  const right = wrong.filter((is) => !is).length;
  const accuracy = (order: readonly number[], k: number): number =>
    order.slice(0, k).filter((i) => !wrong[i]).length / k;
  const area = (key: (i: number) => number): number => {
    const order = [...scores.keys()].sort((a, b) => key(a) - key(b));
    return order.reduce((sum, _, i) => sum + accuracy(order, n - i), 0) / n;
  };
  const random = right / n;
  return (area((i) => scores[i]!) - random) / (area((i) => Number(wrong[i])) - random);
}

describe('answers that are kept', () => {
  it('are right as the order of scores has it', () => {
    expect([...kept([0.1, 0.9, 0.5, 0.3], [false, true, false, true])]).toEqual([0, 1, 1, 2, 2]);
  });

  it('are right as often as on average where scores tie', () => {
    expect([...kept([1, 1, 0, 2], [true, false, false, true])]).toEqual([0, 1, 1.5, 2, 2]);
  });

  it('count as often as they are drawn: as if there were copies of them', () => {
    const times = Uint32Array.of(2, 0, 3, 1);
    const [scores, wrong] = [
      [1, 5, 1, 3],
      [true, false, false, true],
    ] as const;
    const copies = scores.flatMap((score, i) =>
      Array.from({ length: times[i]! }, () => [score, wrong[i]!] as const),
    );
    const expected = kept(
      copies.map(([score]) => score),
      copies.map(([, is]) => is),
    );
    const found = keptRight(rank(scores, wrong), times);
    expect(found).toHaveLength(expected.length);
    for (const [k, value] of expected.entries()) expect(found[k]).toBeCloseTo(value, 12);
  });
});

describe('the prediction–rejection ratio', () => {
  it('is 1 where all wrong answers have the highest scores, and 0 where all scores are alike', () => {
    const wrong = [true, false, true, false, false];
    expect(predictionRejectionRatio(kept([9, 1, 8, 2, 3], wrong))).toBeCloseTo(1, 12);
    expect(predictionRejectionRatio(kept([1, 1, 1, 1, 1], wrong))).toBeCloseTo(0, 12);
    expect(predictionRejectionRatio(kept([1, 9, 2, 8, 7], wrong))).toBeLessThan(0);
  });

  it('is that of its definition where no scores tie', () => {
    fc.assert(
      fc.property(answers, fc.integer(), (all, seed) => {
        const wrong = all.map(([, is]) => is);
        const scores = all.map(([score], i) => score + ((i * 7919 + seed) % 9973) / 1e5 + i / 1e9);
        const expected = byHand(scores, wrong);
        const found = predictionRejectionRatio(kept(scores, wrong));
        if (Number.isFinite(expected)) expect(found).toBeCloseTo(expected, 9);
        else expect(found).toBeNaN();
      }),
    );
  });

  it('is the mean over the orders of what ties', () => {
    const wrong = [true, false, false, true, false];
    const mean = [0, 1]
      .map((first) => byHand([3, 1 + first / 10, 0, 1 + (1 - first) / 10, 2], wrong))
      .reduce((sum, one) => sum + one / 2, 0);
    expect(predictionRejectionRatio(kept([3, 1, 0, 1, 2], wrong))).toBeCloseTo(mean, 12);
  });

  it('is not defined where no answer is wrong, or none is right', () => {
    expect(predictionRejectionRatio(kept([1, 2], [false, false]))).toBeNaN();
    expect(predictionRejectionRatio(kept([1, 2], [true, true]))).toBeNaN();
  });
});

describe('the share of answers with the highest scores', () => {
  const wrong = [true, true, false, false, true, false, false, false, false, false];
  const of = kept([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], wrong);

  it('has so many wrong ones', () => {
    expect(wrongAmong(of, 0.2)).toBe(2);
  });

  it('has each wrong answer either among it or left', () => {
    fc.assert(
      fc.property(answers, fc.integer({ min: 0, max: 20 }), (all, twentieth) => {
        const wrongs = all.map(([, is]) => is);
        const curve = kept(
          all.map(([score]) => score),
          wrongs,
        );
        const left = all.length - Math.round((twentieth / 20) * all.length);
        const leftWrong = left - curve[left]!;
        expect(wrongAmong(curve, twentieth / 20) + leftWrong).toBeCloseTo(wrongs.filter(Boolean).length, 9);
      }),
    );
  });
});
