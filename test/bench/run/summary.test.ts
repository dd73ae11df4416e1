import { describe, expect, it } from 'vitest';
import type { Evaluation } from '#bench/records/evaluation.js';
import { summaryOf } from '#bench/run/summary.js';
import { madeUpEvaluation } from '../../support/made-up-evaluation.js';

const summary = (parts: Partial<Evaluation> = {}): string =>
  summaryOf('runs/x', madeUpEvaluation(parts), false);
const none = { value: null, interval: null };

describe('what a run says at its end', () => {
  it('is first what the best score is good for', () => {
    expect(summary().split('\n').slice(0, 2)).toEqual([
      'Of 1,000 answers 200 are wrong. Whoever reads the 20 % with the highest score (200 answers, by self_consistency, the best of 4 on these answers) finds 120 [110, 130] of them (chance: 40).',
      'Choosing the best score by the same answers flatters it: expect less on new ones.',
    ]);
  });

  it('is then answers, steps and tokens', () => {
    const text = summary();
    const places = [
      'wrong answers score higher',
      'first wrong steps score higher than right ones',
      'the first wrong step holds one of the highest',
      'flinch bench report runs/x writes a page of tables, and one of all answers',
    ].map((part) => text.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(text).toMatch(/\| +AUROC \| +average precision \| +PRR \|/);
  });

  it('says whose the labels are, and how many are of people', () => {
    const [counts] = madeUpEvaluation().counts;
    const labelled = { ...counts!, unsure: 3, labelledBy: { rules: 188, people: 12 } };
    expect(summary({ counts: [labelled] })).toContain('200 labels: 188 by rules, 12 by people; 3 unsure.');
    const none = { ...counts!, labelledBy: { rules: 200 } };
    expect(summary({ counts: [none] })).toContain('200 labels: 200 by rules, 0 by people; 0 unsure.');
  });

  it('asks for no other temperature of responses that were given', () => {
    const [counts] = madeUpEvaluation().counts;
    const answers = { n: 40, wrong: 2, best: null, reading: null };
    const parts = { answers, settings: { limit: null, score: 'all' }, responses: [] };
    const told = (given: number) => summary({ ...parts, counts: [{ ...counts!, given }] });
    expect(told(40)).toContain(
      '2 of 40 answers are wrong; intervals need about 20: repeat with more responses.',
    );
    expect(told(40)).not.toContain('--temperature');
    expect(told(0)).toContain('a higher --temperature');
  });

  it('has no table by step where each answer is a single one', () => {
    const text = summary({ singleStep: true, tokens: [], steps: [], pooled: [] });
    expect(text).not.toMatch(/first wrong step (holds|is)|first wrong steps score/);
  });

  it('says what to run instead of tables where no answer is right', () => {
    const [counts] = madeUpEvaluation().counts;
    const answers = { n: 40, wrong: 40, best: null, reading: null };
    const parts: Partial<Evaluation> = {
      answers,
      settings: { limit: 40, score: 'all' },
      counts: [{ ...counts!, problems: 40, truncated: 0, correct: 0, wrong: 40 }],
      responses: madeUpEvaluation().responses.map((row) => ({ ...row, auroc: none })),
    };
    const text = summary(parts);
    expect(text).toContain(
      '0 of 40 answers are right; no score can be judged, and intervals need about 20: repeat with --limit 400, a lower --temperature, or another model.',
    );
    expect(text).not.toContain('wrong answers score higher');
    const told = JSON.parse(summaryOf('runs/x', madeUpEvaluation(parts), true));
    expect(told).toMatchObject({
      answers: { n: 40 },
      responses: [],
      missing: [expect.stringContaining('0 of 40')],
    });
  });

  it('says so where a value is not defined', () => {
    const responses = madeUpEvaluation().responses.map((row) => ({ ...row, prr: none }));
    expect(summary({ responses })).toMatch(/\| nll .* n\/a \|/);
  });
});
