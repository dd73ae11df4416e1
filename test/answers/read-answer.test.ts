import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ANSWER_KINDS, kindOf } from '#src/answers/answer-kind.js';
import { readAnswer } from '#src/answers/read-answer.js';

const label = z.enum(['right', 'wrong', 'unsure']);
/** Responses with a person's labels; `before` is that of the checks that the reader replaced. */
const rowSchema = z.strictObject({
  kind: z.enum(ANSWER_KINDS),
  question: z.string(),
  answers: z.array(z.string()),
  choices: z.array(z.string()).default([]),
  response: z.string(),
  label,
  before: label,
  source: z.enum(['made', '0.5B', '1.5B']),
  /** Kept aside while the reader was written. */
  aside: z.boolean(),
  /** What the reader said first of one that was kept aside, if that was not the label. */
  first: label.optional(),
});

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const rows = read('test/fixtures/bench/answers.jsonl')
  .trim()
  .split('\n')
  .map((line) => rowSchema.parse(JSON.parse(line)))
  .map((row) => {
    const { question, answers, choices, response } = row;
    const key = { question, answers, choices: choices.length > 0 ? choices : null };
    const { correct } = readAnswer(response, key, kindOf(key));
    return { ...row, read: kindOf(key), now: correct === null ? 'unsure' : correct ? 'right' : 'wrong' };
  });

/** Those that a person can label. */
const decided = rows.filter((row) => row.label !== 'unsure');
const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

/** A row of the tables in docs/results/answers.md. */
function line(name: string, mine: typeof rows, saidBy: (row: (typeof rows)[number]) => string): string {
  const dared = mine.filter((row) => saidBy(row) !== 'unsure');
  const [before, now] = [
    mine.filter((row) => row.before === row.label),
    dared.filter((row) => saidBy(row) === row.label),
  ];
  const cells = [name, mine.length, share(before.length, mine.length), share(now.length, dared.length)];
  return `| ${[...cells, share(mine.length - dared.length, mine.length)].join(' | ')} |`;
}

describe('the reader of answers', () => {
  it('knows the kind of each key', () => {
    expect(rows.filter(({ kind, read }) => kind !== read)).toEqual([]);
  });

  it('agrees with a person in 98 % of the answers that it dares to label, and is unsure of less than 5 %', () => {
    const dared = decided.filter(({ now }) => now !== 'unsure');
    expect(dared.filter(({ now, label }) => now === label).length / dared.length).toBeGreaterThanOrEqual(
      0.98,
    );
    expect(1 - dared.length / decided.length).toBeLessThan(0.05);
  });

  it('is unsure where a person is', () => {
    expect(rows.filter((row) => row.label === 'unsure' && row.now !== 'unsure')).toEqual([]);
  });

  it('has its agreement in the documentation', () => {
    const now = (row: (typeof rows)[number]): string => row.now;
    const first = (row: (typeof rows)[number]): string => row.first ?? row.label;
    const tables = [
      ...ANSWER_KINDS.map((kind) =>
        line(
          kind,
          decided.filter((row) => row.kind === kind),
          now,
        ),
      ),
      line('all', decided, now),
      line(
        'of models',
        decided.filter(({ source }) => source !== 'made'),
        now,
      ),
      line(
        'made',
        decided.filter(({ source }) => source === 'made'),
        now,
      ),
      line(
        'kept aside, first reading',
        decided.filter(({ aside }) => aside),
        first,
      ),
    ];
    const page = read('docs/results/answers.md').split('\n');
    expect(tables.filter((row) => !page.includes(row))).toEqual([]);
  });
});

it.each([
  ['the wrong unit', '5 km', '5 miles', false],
  ['another unit', '5 km', '5000 m', true],
  ['another currency', '$5', '£5', false],
  ['a temperature in another unit', '20 °C', '68 °F', null],
  ['a point that may part thousands', '12500', '12.500', null],
  ['two numbers', '6', 'It has 5 or 6 sides.', null],
  ['a day or a month', '5 March 2021', '03/05/2021', null],
  ['less than the key', '9 November 1989', 'November 1989', null],
  ['a denied name', 'Zürich', 'It is not Zürich.', false],
  ['a name in a contrast', 'Bern', 'Zürich is the largest city, but the capital is Bern.', true],
  ['a name instead of another', 'Bern', 'The capital is not Zürich but Bern.', true],
  ['a list with one more', 'red, blue', 'red, blue and green', false],
  ['thoughts that do not end', 'Paris', '<think>Paris', false],
])('reads %s', (_, answer, response, correct) => {
  const key = { question: 'What is the capital?', answers: [answer], choices: null };
  expect(readAnswer(response, key, kindOf(key)).correct).toBe(correct);
});

it.each([
  '((((',
  '\\boxed{\\text{',
  '$'.repeat(2000),
  `${'1,'.repeat(3000)}1`,
  `${'a '.repeat(8000)}b`,
  '\ud800 (B',
  '𝔅',
])('reads anything in a short time: %.12s', (response) => {
  for (const answer of ['7', 'yes', 'C++ (lang)', '1 May 2020', 'a, b, c', 'one two three four five six']) {
    const key = { question: 'Which?', answers: [answer], choices: null };
    const start = performance.now();
    readAnswer(response, key, kindOf(key));
    readAnswer(response, { ...key, answers: ['B'], choices: ['(x', 'y*'] }, 'choice');
    expect(performance.now() - start).toBeLessThan(2000);
  }
});
