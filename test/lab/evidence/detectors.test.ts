import { describe, expect, it } from 'vitest';
import { byAggregation } from '#bench/steps/aggregation.js';
import type { LabelledStep, StepSet } from '#lab/evidence/answer-set.js';
import { conformalRanks, detectorsOf } from '#lab/evidence/detectors.js';
import { choose, evaluate } from '#lab/evidence/evaluate-evidence.js';

/** Answers of a right step, a wrong one, and what follows it; `doubt` is of the wrong step, and the right one has i. */
function answers(count: number, doubt: (i: number) => number, entropy = doubt): StepSet {
  const steps = Array.from({ length: count }, (_, answer): LabelledStep[] => {
    const step = (label: LabelledStep['label'], place: number, ...scores: number[]): LabelledStep => ({
      answer,
      label,
      place,
      tokens: 1 + (answer % 4),
      scores: new Map([
        ['adversarial', byAggregation(() => scores[0]!)],
        ['entropy', byAggregation(() => scores[1]!)],
      ]),
    });
    return [
      step('right', 0, answer, answer),
      step('wrong', 1, doubt(answer), entropy(answer)),
      step('after', 2, 1e6, 1e6),
    ];
  }).flat();
  return { name: 'made up', answers: count, measures: ['adversarial', 'entropy'], steps };
}

const found = (set: StepSet, name: string) =>
  evaluate(set).detections.find((detection) => detection.name === name)!;

describe('conformal ranks', () => {
  const { steps } = answers(10, (i) => 100 + i);
  const right = steps.map(({ label }) => label === 'right');

  it('compare a step with those of the other parts alone', () => {
    const scores = steps.map(({ answer }, i) => (right[i] ? answer : 100));
    const ranks = conformalRanks(steps, scores);
    // Part 0 has answers 0 and 5. Of the 24 steps elsewhere, 8 are right, and all score at least 0.
    expect(ranks[0]).toBeCloseTo(0);
    // 4 of them score less than 5: 1, 2, 3 and 4.
    expect(ranks[15]).toBeCloseTo(1 - (1 + 20) / 25);
  });
});

describe('the detectors of npm run lab -- evidence', () => {
  it('take a step without a scored token for one with nothing doubtful in it', () => {
    const set = answers(10, () => Number.NEGATIVE_INFINITY);
    const { scores } = detectorsOf(set).find(({ name }) => name === 'regression')!;
    expect(scores.every(Number.isFinite)).toBe(true);
    expect(found(set, 'entropy').auroc.value).toBe(0);
  });

  it('find what the threshold of other answers finds', () => {
    // Wrong steps of even answers score more than all right ones, those of odd answers less.
    const set = answers(100, (i) => (i % 2 === 0 ? 1000 : -1));
    const { averagePrecision, auroc, recall, falseAlarms } = found(set, 'entropy');
    expect(auroc.value).toBeCloseTo(0.5);
    expect(averagePrecision.value).toBeGreaterThan(0.7);
    expect(recall.value).toBeCloseTo(0.5);
    // Each part's threshold is that of the 80 right steps elsewhere.
    expect(falseAlarms.value).toBeCloseTo(0.05, 1);
  });

  it('train on the labels of another set, or of the other parts', () => {
    const set = answers(25, (i) => 100 + i);
    const name = 'regression';
    expect(found(set, name).auroc.value).toBe(1);
    const turned = answers(25, (i) => -100 - i);
    const { detections } = evaluate(turned, set);
    expect(detections.find((one) => one.name === name)!.auroc.value).toBeLessThan(1);
  });

  it('are chosen by average precision; where the lead is not clear, the cheaper one', () => {
    const noisy = (i: number) => ((i * 7919) % 100) - 20;
    const [clear, alike] = [answers(100, () => 1000, noisy), answers(100, noisy)];
    const names = (set: StepSet) => {
      const evaluated = evaluate(set);
      const single = evaluated.detections.filter(({ name }) => /^(adversarial|entropy)$/.test(name));
      return choose([{ ...evaluated, detections: single }]);
    };
    expect(names(clear)).toMatchObject({ best: 'adversarial', chosen: 'adversarial' });
    expect(names(clear).difference.interval![0]).toBeGreaterThan(0);
    expect(names(alike).chosen).toBe('entropy');
  });
});
