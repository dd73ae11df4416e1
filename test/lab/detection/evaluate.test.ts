import { describe, expect, it } from 'vitest';
import { evaluate, labelled, nameOf } from '#lab/detection/evaluate.js';
import { promises, type RatedAnswer, type RatedStep } from '#lab/detection/promises.js';
import type { ScoredAnswer } from '#lab/detection/scored-answer.js';

/** Steps of two tokens; the scores are those of each measure. */
const answer = (scores: readonly number[], firstWrong: number | null = null): ScoredAnswer => ({
  task: 'arithmetic',
  right: firstWrong === null,
  steps: Array.from({ length: scores.length / 2 }, (_, i) => ({ from: 2 * i, to: 2 * i + 2 })),
  firstWrong,
  wrongToken: firstWrong === null ? null : 2 * firstWrong,
  scores: { nll: [...scores], entropy: [...scores] },
  hidden: Array.from({ length: scores.length / 2 }, (_, i) => [Number(i === firstWrong)]),
});

describe('the results of npm run lab -- detection', () => {
  // 99 right steps of (1, 1), one of (5, 0); wrong ones of (4, 4) and of (6, 0), what follows does not count.
  const right = Array.from({ length: 33 }, () => answer([1, 1, 1, 1, 1, 1]));
  const answers = [...right, answer([5, 0]), answer([4, 4, 9, 9], 0), answer([6, 0], 0)];
  const { detectors, groups, promises: _, ...counts } = evaluate(answers, ['entropy, sum']);
  const of = (name: string) => detectors.find((detector) => nameOf(detector) === name)!;

  it('count steps up to the first wrong one', () => {
    expect(counts).toEqual({ answers: 36, rightAnswers: 34, steps: 102, firstWrong: 2 });
  });

  it('give recall at a share of false alarms, by each statistic', () => {
    // At 1 % one right step may be flagged, and the one with a 5 is.
    expect(of('nll, max').recall.map(({ value }) => value)).toEqual([1, 1, 1]);
    expect(of('nll, sum').averagePrecision.value).toBe(1);
    expect(of('nll, max').averagePrecision.value).toBeCloseTo((1 + 2 / 3) / 2);
    expect(of('tokens, length').auroc.value).toBe(0.5);
    expect(of('nll, sum').difference).toBeNull();
    expect(of('nll, max').difference?.value).toBe(0);
    expect(of('tokens, length').difference?.value).toBeLessThan(0);
  });

  it('say when a flag is known: with the end of its step, or as soon as the score passes', () => {
    // At 2 % both right ones above (1, 1) may be flagged: the threshold is a sum of 2, passed by the first token.
    expect(of('nll, sum').delay).toEqual({ atEnd: 1, live: 0 });
    expect(of('nll, mean').delay).toEqual({ atEnd: 1, live: 1 });
    expect(of('tokens, length').delay).toBeNull();
  });

  it('have a row of what labels would buy, with the labels of the same steps', () => {
    const examples = labelled(answers);
    expect(examples).toHaveLength(102);
    expect(examples.filter(({ positive }) => positive)).toEqual([
      { features: [1], positive: true, group: 34 },
      { features: [1], positive: true, group: 35 },
    ]);
    const supervised = { name: 'perfect', probe: ([feature]: readonly number[]) => feature! };
    const { detectors: rows } = evaluate(answers, [], supervised);
    expect(rows.slice(0, -1)).toEqual(detectors);
    expect(rows.at(-1)).toMatchObject({ measure: 'perfect', statistic: 'probe', delay: null });
    expect(rows.at(-1)?.averagePrecision.value).toBe(1);
  });

  it('are told apart by kind of step', () => {
    expect(Object.keys(groups)).toEqual(['entropy, sum']);
    const [task, first, last] = groups['entropy, sum']!;
    expect(task).toMatchObject({ of: 'arithmetic', right: 100, wrong: 2 });
    expect(task?.falseAlarms.value).toBe(0.01);
    expect(first).toMatchObject({ of: 'first steps', right: 34 });
    expect(last).toMatchObject({ of: 'last steps', right: 33, wrong: 0 });
  });
});

describe('promised rates', () => {
  const step = (score: number, place: RatedStep['place'], tokens = 4): RatedStep => ({
    score,
    place,
    tokens,
  });
  /** Scores between 0 and 1; steps between are higher than the others. Every tenth answer has a wrong one. */
  const answers = Array.from({ length: 4000 }, (_, i): RatedAnswer => {
    const unit = (k: number): number => (((i * 7919 + k * 104729) * 2654435761) % 4294967296) / 4294967296;
    const firstWrong = i % 10 < 2 ? 1 : null;
    const steps = [
      step(unit(1) / 10, 'first'),
      step(firstWrong === null ? unit(2) : 0.99, 'between'),
      step(unit(3) / 10, 'last'),
    ];
    return { steps, firstWrong, right: firstWrong === null };
  });
  const rows = promises(answers);
  const row = (rateOf: string, rate: number) =>
    rows.find((one) => one.rateOf === rateOf && one.rate === rate)!;

  it('hold for what they are a rate of', () => {
    expect(row('steps', 0.02).steps.all.value).toBeCloseTo(0.02, 2);
    const placed = row('steps, by place', 0.02).steps;
    for (const place of ['first', 'between', 'last'] as const)
      expect(placed[place].value).toBeCloseTo(0.02, 2);
    for (const rate of [0.02, 0.05, 0.1])
      expect(Math.abs(row('answers', rate).answers.value - rate)).toBeLessThan(0.015);
  });

  it('show what they cost: a rate of each place flags fewer of the steps that may be wrong', () => {
    const { steps, found } = row('steps', 0.02);
    expect(steps.first.value).toBe(0);
    expect(steps.between.value).toBeGreaterThan(0.04);
    expect(found.value).toBe(1);
    expect(row('answers', 0.02).found.value).toBe(1);
    expect(row('answers', 0.1).answers.value).toBeGreaterThan(row('answers', 0.02).answers.value);
  });

  it('flag nothing where there are too few answers for the rate', () => {
    const few = promises(answers.slice(0, 40));
    expect(few.find(({ rateOf, rate }) => rateOf === 'answers' && rate === 0.02)?.found.value).toBe(0);
  });
});
