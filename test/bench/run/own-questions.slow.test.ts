import { rmSync } from 'node:fs';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const { folder, lines, ...runs } = useBenchRuns('--model', REASONER, '--measures', 'nll');

/** The embedded model's answers to these are short, and some are right. */
const SUMS = Array.from({ length: 24 }, (_, i) => ({
  question: `Tom has ${i + 2} apples and gets ${(i % 5) + 1} more. How many apples does Tom have now?`,
  answer: i + 2 + (i % 5) + 1,
}));

const write = (name: string, rows: readonly object[]): string =>
  folder.write(name, rows.map((row) => JSON.stringify(row)).join('\n'));
const run = (questions: string, out: string, ...more: string[]) =>
  runs.run(out, '--questions', questions, ...more);
const records = (name: string, file: string) => lines<{ id: string; correct?: boolean }>(name, file);
const idsIn = (name: string, file: string): string[] => records(name, file).map(({ id }) => id);

describe("flinch bench run with one's own questions", () => {
  it('asks a sample of them, and goes on with a larger one', async () => {
    const file = write('sums.jsonl', SUMS);
    const few = await run(file, 'sums', '--limit', '4', '--json');
    expect(few.stderr).toContain('24 questions of sums.jsonl; answers are checked by: number (24)');
    expect(few.code).toBe(0);
    expect(JSON.parse(few.stdout)).toMatchObject({ counts: { problems: 4 } });
    const first = idsIn('sums', 'responses');
    const before = folder.read('sums/responses.jsonl');

    const more = await run(file, 'sums', '--limit', '9', '--json');
    expect(more.code).toBe(0);
    expect(JSON.parse(more.stdout)).toMatchObject({ counts: { problems: 9 } });
    expect(folder.read('sums/responses.jsonl').startsWith(before)).toBe(true);
    expect(idsIn('sums', 'responses')).toHaveLength(9);
    expect(new Set(idsIn('sums', 'scores'))).toEqual(new Set(idsIn('sums', 'responses')));

    const fewer = await run(file, 'sums', '--limit', '4');
    expect(fewer).toMatchObject({ code: 1, stderr: expect.stringContaining('another limit: 9, not 4') });
    expect(first).toHaveLength(4);
    const others = await run(file, 'sums', '--limit', '12', '--check', 'contains');
    expect(others.stderr).toContain('contains a run with another');
  });

  it('stops at so many wrong answers of each group', async () => {
    const rows = SUMS.map((row, i) => ({ ...row, answer: i % 2 ? row.answer : -1, group: `g${i % 2}` }));
    const { code } = await run(write('groups.jsonl', rows), 'groups', '--per-subset', '2', '--streams', '1');
    expect(code).toBe(0);
    const wrong = records('groups', 'checks').filter(({ correct }) => !correct);
    const ofEven = wrong.filter(({ id }) => Number(id.slice(4)) % 2 === 1);
    expect(ofEven).toHaveLength(2);
    expect(idsIn('groups', 'responses').filter((id) => Number(id.slice(4)) % 2 === 1)).toHaveLength(2);
  });

  it('lets a program check the answers', async () => {
    const file = write('checked.jsonl', SUMS.slice(0, 3));
    const program = folder.write(
      'check.cjs',
      `const { answers, response } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
       console.log(JSON.stringify({ right: response.includes(answers[0]), extracted: 'mine' }));`,
    );
    const { code } = await run(file, 'checked', '--check', `command:node ${JSON.stringify(program)}`);
    expect(code).toBe(0);
    const checks = records('checked', 'checks');
    expect(checks).toHaveLength(3);
    for (const check of checks) expect(check).toMatchObject({ extracted: 'mine', by: 'program' });

    const failing = await run(file, 'failing', '--check', 'command:echo why >&2; exit 3');
    expect(failing.code).toBe(1);
    expect(failing.stderr).toMatch(/--check: .* ended with 3 about row-\d: why/);
    expect(failing.stderr).toContain('3 of 3 answers are not checked, which is neither right nor wrong');

    const partly = await run(
      file,
      'partly',
      '--check',
      `command:node -e "process.exit(require('fs').readFileSync(0).includes('row-2') ? 3 : console.log('right'))"`,
    );
    expect(partly.stderr).toContain('1 of 3 answers are not checked');
    expect(idsIn('partly', 'checks').sort()).toEqual(['row-1', 'row-3']);
  });

  it('exports answers that no spreadsheet computes, and overwrites nothing of others', async () => {
    const responses = ['=HYPERLINK("http://x")', ' @SUM(1)', '- item', '-0.5', "'quoted'", 'a=b'];
    const rows = responses.map((response, i) => ({ id: `${i}`, question: 'Sum?', response, right: true }));
    expect((await run(write('cells.jsonl', rows), 'cells')).code).toBe(0);
    for (const [command, name] of [
      ['report', 'report.html'],
      ['export', 'answers.csv'],
    ] as const) {
      const file = folder.path(`cells/${name}`);
      folder.write(`cells/${name}`, 'mine');
      const refused = await flinch(['bench', command, folder.path('cells')]);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`${file} is there`) });
      expect(folder.read(`cells/${name}`)).toBe('mine');
      rmSync(file);
      for (let times = 0; times < 2; times++)
        expect(await flinch(['bench', command, folder.path('cells')])).toMatchObject({ code: 0 });
    }
    const { data } = Papa.parse<Record<string, string>>(folder.read('cells/answers.csv'), {
      header: true,
      skipEmptyLines: true,
    });
    const texts = ['\'=HYPERLINK("http://x")', "' @SUM(1)", "'- item", '-0.5', "''quoted'", 'a=b'];
    expect(new Map(data.map(({ id, response }) => [id, response]))).toEqual(
      new Map(texts.map((text, i) => [`${i}`, text])),
    );
  });

  it('scores responses that are there, with labels or by their answers', async () => {
    const file = write('given.jsonl', [
      { question: 'Sum?', response: 'It is four. Yes.', right: true },
      { question: 'Sum?', steps: ['It is four.', 'No, five.'], right: false, first_wrong: 1 },
      { question: 'Sum?', response: 'It is six.', answer: 'four' },
    ]);
    const { code, stdout } = await run(file, 'given', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ counts: { problems: 3, correct: 1, wrong: 2, located: 1 } });
    const byId = Object.fromEntries(records('given', 'checks').map((check) => [check.id, check]));
    expect(byId).toMatchObject({
      'row-1': { correct: true, by: 'labels' },
      'row-2': { correct: false, by: 'labels' },
      'row-3': { correct: false, by: 'rules' },
    });
  });

  it('counts what is cut off as wrong', async () => {
    const file = write('long.jsonl', SUMS.slice(0, 3));
    const cut = await run(file, 'cut', '--max-tokens', '2', '--json');
    expect(JSON.parse(cut.stdout)).toMatchObject({ counts: { problems: 3, truncated: 3, wrong: 3 } });
    expect(idsIn('cut', 'scores')).toHaveLength(3);
  });

  it.each([
    [[], '--suite or --questions: one of them is required'],
    [['--suite', 'tasks', '--questions', 'x.csv'], '--suite or --questions: one of them is required'],
    [['--suite', 'tasks', '--check', 'exact'], '--check: must be rules or judge for --suite, not "exact"'],
    [['--questions', 'missing.csv'], 'missing.csv: cannot be read (ENOENT'],
  ])('refuses %j', async (options, message) => {
    const { code, stderr } = await runs.run('x', ...options);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
