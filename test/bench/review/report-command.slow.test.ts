import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRuns } from '#bench/report/runs.js';
import { flinch, useFolder } from '../../support/cli.js';
import { madeUpEvaluation } from '../../support/made-up-evaluation.js';

const { path } = useFolder();

function folderOf(name: string, evaluation: unknown): string {
  const folder = path(name);
  mkdirSync(folder, { recursive: true });
  const text = typeof evaluation === 'string' ? evaluation : JSON.stringify(evaluation);
  writeFileSync(join(folder, 'evaluation.json'), text);
  return folder;
}

describe('the folders of a report', () => {
  it.each<[string, unknown, RegExp]>([
    ['no JSON', '{"format": ', /evaluation\.json: is not valid JSON: /],
    ['no evaluation', { suite: 'tasks' }, /evaluation\.json: model: /],
    [
      'a number that is none',
      { ...madeUpEvaluation(), temperature: 'warm' },
      /evaluation\.json: temperature: .*number/,
    ],
    ['a row that is broken', { ...madeUpEvaluation(), tokens: [{ scope: 'all' }] }, /tokens\[0\]\.measure: /],
  ])('with %s are refused by name', (name, evaluation, message) => {
    expect(() => readRuns([folderOf(name, evaluation)])).toThrow(message);
  });

  it('without a finished run are refused', () => {
    expect(() => readRuns([path('nowhere')])).toThrow(
      /nowhere.evaluation\.json is missing; `flinch bench run` writes it/,
    );
  });

  it('give runs that are alike different names', () => {
    const folders = ['one', 'two'].map((name) => folderOf(name, madeUpEvaluation()));
    const hot = folderOf('hot', madeUpEvaluation({ temperature: 1 }));
    expect(readRuns([...folders, hot]).map(({ label }) => label)).toEqual([
      'reasoner (one)',
      'reasoner (two)',
      'reasoner',
    ]);
  });
});

describe('flinch bench report', () => {
  it('writes its report into the folder of a run, also where the answers are gone', async () => {
    const folder = folderOf('run', madeUpEvaluation());
    const { code, stdout, stderr } = await flinch(['bench', 'report', folder]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const files = stdout.trim().split('\n');
    expect(files).toEqual([join(folder, 'report.html')]);
    expect(readFileSync(files[0]!, 'utf8')).toContain('<h1>Benchmark report</h1>');
  });

  it('writes the paper’s tables alone, elsewhere', async () => {
    const out = path('new/paper');
    expect(await flinch(['bench', 'report', '--paper', '--out', out])).toMatchObject({ code: 0 });
    expect(existsSync(join(out, 'report.html'))).toBe(true);
  });

  it.each([
    [['bench', 'report'], /at least one run folder/],
    [['bench', 'report', '--paper'], /--out/],
    [['bench', 'report', 'x', '--paper'], /cannot be combined with run folders/],
    [['bench', 'report', path('nowhere')], /is missing/],
  ])('%j fails in one line', async (args, message) => {
    const { code, stderr } = await flinch(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
