import { describe, expect, it } from 'vitest';
import type { CheckRecord } from '#bench/records/records.js';
import { mend, readLabels } from '#bench/review/given-labels.js';
import { flinch, useFolder } from '../../support/cli.js';
import { makeRun } from '../../support/made-up-run.js';

const { path, write, read } = useFolder();

/** Ten answers, of which the check calls two wrong and is unsure of one. */
const answers = (name: string) =>
  makeRun(
    path(name),
    Array.from({ length: 10 }, (_, i) => ({
      id: `row-${i + 1}`,
      question: i === 2 ? '=1+1?' : `Question ${i}?`,
      texts: i === 2 ? ["'=HYPERLINK", '(1) |'] : ['It is', ` ${i}.`],
      correct: i === 9 ? null : i > 1,
      nll: [i < 2 ? 3 : 1, i / 10],
    })),
  );
const checksIn = (name: string): Map<string, CheckRecord> =>
  new Map(
    read(`${name}/checks.jsonl`)
      .trim()
      .split('\n')
      .map((line): CheckRecord => JSON.parse(line))
      .map((check) => [check.id, check]),
  );

describe('a file of labels', () => {
  it.each([
    ['labels.jsonl', '{"id": 1, "label": "Wrong"}\n{"id": "2", "label": "unsure", "response": "x"}\n'],
    ['labels.csv', 'id,label,response\n1,incorrect,\n2,UNSURE,x\n3,,y\n'],
    ['labels.tsv', 'id\tright\tresponse\n1\tFALSE\t\n2\tunsure\tx\n'],
  ])('is a table with id and label or right: %s', async (name, text) => {
    expect(await readLabels(write(name, text))).toMatchObject([
      { id: '1', correct: false, response: null, by: null },
      { id: '2', correct: null, response: 'x' },
    ]);
  });

  it.each([
    ['{"label": "right"}', /labels\.jsonl:1: id: /],
    ['{"id": "1"}', /labels\.jsonl:1: label: is missing/],
    ['{"id": "1", "label": "maybe"}', /labels\.jsonl:1: label: must be right, wrong or unsure/],
    [
      '{"id": "1", "label": "right"}\n{"id": "1", "label": "wrong"}',
      /:2: "1" has another label than at .*:1/,
    ],
    ['', /has no labels/],
  ])('%s is refused', async (text, message) => {
    await expect(readLabels(write('labels.jsonl', text))).rejects.toThrow(message);
  });

  it('goes before the check, for answers of this run alone', () => {
    const check = { id: 'a', extracted: null, correct: true, by: 'rules' } as const;
    const label = { id: 'a', correct: false, response: 'yes\r\n', by: null, place: 'f:1' };
    const mended = (changes: object) =>
      mend([{ ...label, ...changes }], new Map([['a', check]]), (id) => (id === 'a' ? ' yes' : null));
    expect(mended({}).checks).toEqual([{ ...check, correct: false, by: 'people' }]);
    expect(mended({ correct: true }).checks).toEqual([{ ...check, by: 'people' }]);
    expect(mended({ correct: true, by: 'rules' }).checks).toEqual([]);
    expect(mended({ response: 'no' })).toMatchObject({ checks: [], others: [{ id: 'a' }] });
    expect(mended({ id: 'b' })).toMatchObject({ checks: [], unknown: [{ id: 'b' }] });
  });
});

describe('flinch bench report --labels', () => {
  it('keeps labels in the run, which all commands go by', async () => {
    const run = await answers('mended');
    const file = write(
      'l.jsonl',
      '{"id": "row-1", "label": "right"}\n{"id": "row-10", "label": "wrong"}\n{"id": "x", "label": "right"}\n',
    );
    const { code, stderr } = await flinch(['bench', 'report', run, '--labels', file]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 label is left out')]);
    const { counts } = JSON.parse(read('mended/evaluation.json'));
    expect(counts[0]).toMatchObject({ correct: 8, wrong: 2, unsure: 0, labelledBy: { rules: 8, people: 2 } });
    expect(read('mended/report.html')).toContain('10 labels: 8 by rules, 2 by people; 0 unsure.');
    expect(read('mended/answers.html')).toContain('"by":"people"');
  });

  it('takes answers.csv as it was exported, and what was changed in it', async () => {
    const run = await answers('exported');
    expect(await flinch(['bench', 'export', run])).toMatchObject({ code: 0 });
    const same = await flinch(['bench', 'report', run, '--labels', `${run}/answers.csv`]);
    expect(same).toMatchObject({ code: 0, stderr: '' });
    expect(read('exported/checks.jsonl').trim().split('\n')).toHaveLength(10);
    const changed = write('c.csv', read('exported/answers.csv').replace(/TRUE,rules/, 'unsure,rules'));
    expect(await flinch(['bench', 'report', run, '--labels', changed])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const mended = [...checksIn('exported').values()].filter(({ by }) => by === 'people');
    expect(mended).toMatchObject([{ id: 'row-3', correct: null }]);
  });

  it.each([
    [['--labels', 'labels.jsonl'], /at least one run folder/],
    [['a', 'b', '--labels', 'labels.jsonl'], /--labels: requires exactly one run folder/],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await flinch(['bench', 'report', ...args]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it('refuses labels of another run', async () => {
    const run = await answers('other');
    const file = write('o.jsonl', '{"id": "row-1", "label": "right", "response": "something else"}');
    const { code, stderr } = await flinch(['bench', 'report', run, '--labels', file]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no label of an answer of')]);
    expect(checksIn('other').get('row-1')).toMatchObject({ correct: false, by: 'rules' });
  });
});

describe('answers.csv', () => {
  it('is a file of questions with labelled responses, each text as it was', async () => {
    const { readRows } = await import('#bench/suites/own/question-rows.js');
    const { questionsOf } = await import('#bench/suites/own/own-problems.js');
    const { openTask } = await import('#bench/suites/own/task.js');
    const run = await answers('back');
    await flinch(['bench', 'export', run]);
    const task = openTask(`${run}/answers.csv`, 'rules');
    const { problems } = questionsOf(await readRows(task.file, '--questions'), task);
    expect(problems.map(({ row }) => row?.right)).toEqual([false, false, ...Array(7).fill(true), 'unsure']);
    expect(problems[2]).toMatchObject({
      question: '=1+1?',
      given: { steps: ["'=HYPERLINK(1) |"] },
    });
  });
});

describe('flinch bench report', () => {
  it('compares a run with the first, on the questions that both have', async () => {
    const runs = [await answers('before'), await answers('after')];
    const labels = write('b.jsonl', '{"id": "row-1", "label": "right"}\n{"id": "row-2", "label": "right"}');
    await flinch(['bench', 'report', runs[1]!, '--labels', labels]);
    const { code, stdout } = await flinch(['bench', 'report', ...runs, '--out', path('both')]);
    expect(code).toBe(0);
    // 7 and 9 of 9: 2 more, none less.
    expect(stdout).toMatch(/\| Accuracy +\| 0\.778 \[.*\| 1\.000 \[.*\| 0\.222 \[/);
    expect(read('both/report.html')).toContain('Side by side');
  });

  it.each([
    ['accuracy=0.5', 0, ''],
    ['accuracy=0.9,auroc=0.5', 1, 'accuracy is 0.778 [0.453, 0.937], below 0.9'],
    ['auroc', 2, 'must be accuracy or auroc'],
    ['f1=0.5', 2, 'must be accuracy or auroc'],
  ])('--fail-below %s ends with %d', async (floors, code, message) => {
    const run = await answers(`floors-${floors}`);
    const found = await flinch(['bench', 'report', run, '--fail-below', floors]);
    expect([found.code, found.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
