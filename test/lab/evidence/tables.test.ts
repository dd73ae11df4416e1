import { describe, expect, it } from 'vitest';
import { type AnswerSet, labelledSteps } from '#lab/evidence/answer-set.js';
import { evidenceOf, evidenceTables } from '#lab/evidence/tables.js';
import { tableCells } from '../../support/markup.js';

type Answer = AnswerSet['answers'][number];

/** A wrong answer of three steps, whose second is wrong, and a right one of two. */
function pair(i: number, wrong: number): Answer[] {
  const scored = (...sums: (number | null)[]) => ({ sum: sums, mean: sums, max: sums });
  const answer = (id: string, others: Partial<Answer>): Answer => ({
    id,
    correct: true,
    firstWrong: null,
    tokens: [4, 6, 5],
    chance: null,
    first: null,
    hits: {},
    steps: {},
    ...others,
  });
  const hit = i % 4 === 0 ? '1'.repeat(8) : '0'.repeat(8);
  return [
    answer(`wrong-${i}`, {
      ...{ correct: false, firstWrong: 1, chance: Array(8).fill(0.5) },
      first: [...Array(5).fill(0.25), null, null, null],
      hits: { adversarial: '1'.repeat(8), nll: hit, position: '0'.repeat(8) },
      steps: { adversarial: scored(i / 100, wrong, 9), nll: scored(i / 100, i / 100, null) },
    }),
    answer(`right-${i}`, {
      tokens: [3, 3],
      steps: { adversarial: scored(i / 100, 0), nll: scored(i / 100, 0) },
    }),
  ];
}

const setOf = (name: string, wrong = 5): AnswerSet => ({
  name,
  model: 'reasoner',
  measures: ['adversarial', 'nll'],
  answers: Array.from({ length: 20 }, (_, i) => pair(i, wrong)).flat(),
});

describe('the tables of npm run lab -- evidence', () => {
  const sets = [setOf('one'), setOf('two')];
  const evidence = evidenceOf(sets, ['two']);
  const tables = evidenceTables(sets, evidence);
  const of = (name: string) => tableCells(tables.get(name)!()).slice(1);

  it('show what measures hit, and controls', () => {
    const rows = new Map(of('one, hits').map(([name, ...values]) => [name, values]));
    expect(rows.get('Adv. Pert.')!.map((cell) => cell.slice(0, 5))).toEqual(['1.000', '0.000']);
    expect(rows.get('NLL')![0]).toMatch(/^0\.250 \[/);
    expect(rows.get('chance')).toEqual(['0.500', '0.333']);
    expect(rows.get('first tokens of steps')).toEqual(['0.250', '']);
    expect(rows.get('longest first')![1]).toMatch(/^1\.000/);
  });

  it('choose on the sets that are not to test on', () => {
    const { chosen } = evidence.choice;
    expect(chosen).toMatch(/^adversarial/);
    expect(of('two, steps').map(([name]) => name)).toContain(`**${chosen}**`);
    // By its labels the second set is the other way round, and changes nothing.
    expect(evidenceOf([sets[0]!, setOf('two', -5)], ['two']).choice.chosen).toBe(chosen);
  });

  it('show what becomes of the choice on another model, which has no part in it', () => {
    const answers = setOf('other', -5).answers.map((answer, i) => ({
      ...answer,
      steps: { ...answer.steps, nll: sets[0]!.answers[i]!.steps.adversarial! },
    }));
    const other = { ...setOf('other'), model: 'another', answers };
    const { choice, evaluated } = evidenceOf([sets[0]!, other], []);
    expect(choice).toEqual(evidenceOf([sets[0]!], []).choice);
    expect(evaluated.map(({ name }) => name)).toEqual(['one', 'other']);
    const ofOneModel = evidenceOf([sets[0]!, { ...other, model: sets[0]!.model }], []);
    expect(ofOneModel.choice.chosen).toMatch(/^nll/);
  });

  it('show what the choice is worth on the sets to test on, where there are some', () => {
    const { chosen } = evidence.choice;
    const steps = new Map(of('two, steps').map(([name, precision, lead]) => [name, { precision, lead }]));
    const rows = of('all sets');
    expect(rows.length).toBe(steps.size);
    for (const [name = '', mean, lead] of rows) {
      expect(mean, name).toBe(steps.get(name)?.precision); // the mean of one set
      expect(lead, name).toBe(steps.get(name)?.lead);
    }
    expect(rows.map(([name]) => name)).toContain(`**${chosen}**`);
    const all = evidenceTables(sets, evidenceOf(sets, [])).get('all sets')!();
    expect(all).toContain('mean of all 2 sets');
  });

  it('cannot be made of sets that have nothing in common', () => {
    expect(() => evidenceOf(sets, ['three'])).toThrow('there is no set three: one; two');
    expect(() => evidenceOf(sets, ['one', 'two'])).toThrow('there is none to choose on');
    expect(() => evidenceOf([sets[0]!, { ...sets[1]!, measures: ['nll'] }], [])).toThrow(
      'two: has the measures nll',
    );
    expect(() => evidenceOf([{ ...sets[0]!, answers: [] }], [])).toThrow(
      'one: no answer has scores of all measures',
    );
  });
});

it('labels steps up to the first wrong one', () => {
  const { steps } = labelledSteps(setOf('one'));
  expect(steps.slice(0, 5).map(({ label }) => label)).toEqual(['right', 'wrong', 'after', 'right', 'right']);
  expect(steps[2]!.scores.get('nll')!.sum).toBe(Number.NEGATIVE_INFINITY);
});
