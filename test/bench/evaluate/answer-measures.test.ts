import { describe, expect, it } from 'vitest';
import { answersOf, rejectionRatios } from '#bench/evaluate/answer-measures.js';
import type { MeasureDigest, ScoredCase } from '#bench/evaluate/case.js';
import { responseDetectors, responseTable } from '#bench/evaluate/detection.js';
import type { Evaluation } from '#bench/records/evaluation.js';

const OPTIONS = { resamples: 200, seed: 1 };
const MEASURES = ['nll', 'entropy', 'longest'];

/** An answer that is known by its scores. */
function answer(id: number, correct: boolean, scores: Readonly<Record<string, number>>): ScoredCase {
  const digest = (score: number): MeasureDigest => ({
    hits: null,
    steps: new Map(),
    response: new Map([['own', score]]),
  });
  return {
    id: `a${id}`,
    subset: 's',
    correct,
    wrong: false,
    firstWrong: null,
    steps: 1,
    chance: null,
    first: null,
    measures: new Map(Object.entries(scores).map(([name, score]) => [name, digest(score)])),
  };
}

const tableOf = (cases: readonly ScoredCase[]): Evaluation['responses'] =>
  responseTable(
    cases,
    { subsets: ['s'], leaveOneOut: false },
    (mine) => responseDetectors(mine, MEASURES, OPTIONS),
    (mine) => rejectionRatios(mine, MEASURES, OPTIONS),
  );
const told = (cases: readonly ScoredCase[]) => answersOf(cases, MEASURES, tableOf(cases), OPTIONS);

/** 40 answers, every fourth wrong. NLL ranks wrong ones high, entropy says nothing, and the longest are all wrong. */
const CASES = Array.from({ length: 40 }, (_, i) => {
  const wrong = i % 4 === 0;
  return answer(i, !wrong, { nll: (wrong ? 25 : 0) + i, entropy: 1, longest: wrong ? 1 : 0 });
});
/** Scores of right answers: all below 40 that no 4 divides; of wrong ones: 25, 29, …, 61. */
const found = told(CASES);

describe('what the scores of answers are worth', () => {
  it('is told of the score with the highest AUROC that is no control', () => {
    expect(found).toMatchObject({ n: 40, wrong: 10, best: { measure: 'nll', aggregation: 'own', of: 2 } });
  });

  it('is how many wrong answers a reader of the highest fifth finds, and would by chance', () => {
    // The highest 8: 61, 57, 53, 49, 45, 41 wrong, 39 and 38 right.
    expect(found.reading).toMatchObject({ share: 0.2, read: 8, found: { value: 6 }, chance: 2 });
    const [low, high] = found.reading!.found.interval!;
    expect(low).toBeLessThan(6);
    expect(high).toBeGreaterThan(6);
  });

  it('is a prediction–rejection ratio with an interval', () => {
    const row = (measure: string) => tableOf(CASES).find((one) => one.measure === measure)!;
    expect(row('longest').prr.value).toBeCloseTo(1, 12);
    expect(row('chance').prr.value).toBeCloseTo(0, 12);
    const { prr } = row('nll');
    expect(prr.value).toBeGreaterThan(0.5);
    expect(prr.interval![0]).toBeLessThan(prr.value!);
    expect(prr.interval![1]).toBeGreaterThan(prr.value!);
  });

  it.each([true, false])('is nothing where all answers are alike: right is %s', (correct) => {
    const alike = CASES.map((one) => ({ ...one, correct }));
    expect(told(alike)).toEqual({
      n: 40,
      wrong: correct ? 0 : 40,
      best: null,
      reading: null,
    });
    expect(tableOf(alike).every(({ prr }) => prr.value === null && prr.interval === null)).toBe(true);
  });
});
