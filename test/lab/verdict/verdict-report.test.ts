import { describe, expect, it } from 'vitest';
import { suites } from '#bench/suites/suites.js';
import { type JudgedAnswer, judged } from '#lab/verdict/judged-answer.js';
import { evaluate } from '#lab/verdict/verdict-report.js';

const answer = (risk: number, changes: Partial<JudgedAnswer> = {}): JudgedAnswer => ({
  subset: 'arithmetic',
  right: true,
  allRight: true,
  steps: 3,
  score: 10 * risk,
  risk,
  measures: { 'max nll': 1 - risk, length: 10 },
  ...changes,
});

/** A hundred right answers with risks from 0 to 0.99, three wrong ones above them, and a lucky one. */
const answers: readonly JudgedAnswer[] = [
  ...Array.from({ length: 100 }, (_, i) => answer(i / 100)),
  ...[0.995, 0.996, 0.997].map((risk) => answer(risk, { right: false, allRight: false, steps: 9 })),
  answer(0.96, { allRight: false }),
];

describe('the results of npm run lab -- verdict', () => {
  const { flagged, reviews, separation, groups } = evaluate(answers);

  it('count false alarms on answers of which every step is right, and apart from them the lucky ones', () => {
    const shares = flagged.map(({ of, answers, shares }) => [
      of,
      answers,
      ...shares.map(({ share }) => share.value),
    ]);
    expect(shares).toEqual([
      ['every step right', 100, 0.01, 0.02, 0.05, 0.1],
      ['right after a wrong step', 1, 0, 0, 1, 1],
      ['wrong final answer', 3, 1, 1, 1, 1],
    ]);
  });

  it('say what a reader of the highest answers finds', () => {
    const found = reviews.map(({ share, answers, wrong, found }) => [
      share,
      answers,
      wrong.value,
      found.value,
    ]);
    expect(found).toEqual([
      [0.05, 5, 3 / 5, 1],
      [0.1, 10, 3 / 10, 1],
      [0.2, 21, 3 / 21, 1],
      [0.3, 31, 3 / 31, 1],
    ]);
  });

  it('say how well wrong final answers are told from right ones, beside each measure', () => {
    expect(separation.map(({ by, auroc }) => [by, auroc.value])).toEqual([
      ['verdict', 1],
      ['length', 0.5],
      ['max nll', 0],
    ]);
    expect(separation.map(({ difference }) => difference?.value ?? null)).toEqual([null, 0.5, 1]);
  });

  it('are also given by kind and by length', () => {
    expect(groups.map(({ name, answers, wrong }) => [name, answers, wrong])).toEqual([
      ['arithmetic', 100, 3],
      ['up to 3 steps', 100, 0],
      ['more than 3 steps', 0, 3],
    ]);
  });
});

describe('an answer of npm run lab -- verdict', async () => {
  const suite = suites.tasks;
  const [problem] = await suite.load({ folder: null, subsets: null, seed: 7, count: 1 });
  const observed = {
    text: 'No idea.',
    tokens: 4,
    scores: [{ adversarial: 1, nll: 2 }, { nll: 4 }, { adversarial: 5, nll: 0 }, { adversarial: 3, nll: 2 }],
    steps: [
      { from: 0, to: 2, text: 'No' },
      { from: 2, to: 4, text: ' idea.' },
    ],
  };
  const risks = { calibrated: () => true, ofToken: () => null, ofStep: () => null };

  it('has the risk that the guard gives it, and measures of all of its tokens', () => {
    const byTenth = { ...risks, ofAnswer: (_: string, __: string, score: number) => score / 10 };
    const { score, risk, right, allRight, steps, measures } = judged(suite, problem!, observed, byTenth, {
      statistic: 'sum',
      method: 'nll',
    });
    expect({ score, risk, right, allRight, steps }).toEqual({
      score: 4,
      risk: 0.4,
      right: false,
      allRight: false,
      steps: 2,
    });
    expect(measures).toMatchObject({
      'max nll': 4,
      'mean nll': 2,
      'sum nll': 8,
      'mean adversarial': 3,
      'verdict by adversarial': 4.5,
      length: 4,
    });
    expect(measures).not.toHaveProperty('verdict by nll');
  });

  it('needs a calibration', () => {
    const none = { ...risks, ofAnswer: () => null };
    expect(() => judged(suite, problem!, observed, none, { statistic: 'sum', method: 'nll' })).toThrow(
      'the calibration has no answers',
    );
  });
});
