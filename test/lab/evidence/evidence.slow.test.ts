import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { flinch, lab, useFolder } from '../../support/cli.js';

const { path } = useFolder();

const bench = (out: string, score: string, measures: string, seed: number) =>
  flinch([
    ...['bench', 'run', '--suite', 'tasks', '--limit', '40', '--temperature', '1.5', '--seed', String(seed)],
    ...['--score', score, '--measures', measures, '--out', path(out)],
  ]);
const collect = (file: string, ...runs: string[]) =>
  lab(['evidence', 'collect', ...runs.map(path), '--output', path(file)]);

describe('npm run lab -- evidence', () => {
  beforeAll(async () => {
    await bench('first', 'all', 'entropy,nll', 1);
    await bench('second', 'all', 'entropy,nll', 2);
  });

  it('collects runs, and makes tables of them', async () => {
    expect(await collect('sets', 'first', 'second')).toMatchObject({
      code: 0,
      stderr: 'first: 40 answers\nsecond: 40 answers\n',
    });
    const files = ['first', 'second'].map((name) => path(`sets/${name}.jsonl.gz`));
    const tables = ['evidence', 'tables', ...files, '--test', 'later=second'];
    const { code, stdout } = await lab(tables);
    expect(code).toBe(0);
    for (const name of ['choice', 'later']) expect(stdout).toContain(`${name}\n\n| `);
    const [choice] = /By the rule, the choice is .+\n$/.exec(stdout)!;

    const page = path('page.md');
    await writeFile(page, '# Page\n\n<!-- table: later -->\n\nText.\n');
    expect((await lab([...tables, '--into', page])).stdout).toContain(choice);
    expect(await readFile(page, 'utf8')).toMatch(
      /^# Page\n\n<!-- .+ -->\n\n\| score +\|.*\n(\|.*\n)+\nText\.\n$/,
    );
    await writeFile(page, '<!-- table: sooner -->\n\n');
    expect((await lab([...tables, '--into', page])).stderr).toContain('there is no table sooner');
    expect((await lab([...tables, 'second'])).stderr).toContain('second');
    await writeFile(
      path('broken.jsonl.gz'),
      gzipSync('{"id":"a","wrong":false,"ends":[2],"content":"00","scores":{"nll":[1]}}\n'),
    );
    expect((await lab(['evidence', 'tables', path('broken.jsonl.gz')])).stderr).toContain(
      'a: has not one score for each token',
    );
  });

  it('refuses what does not belong together', async () => {
    await bench('wrong', 'wrong', 'entropy', 1);
    expect((await collect('new', 'wrong')).stderr).toContain('has scores of wrong responses alone');
    expect((await collect('new', 'nowhere')).stderr).toContain('is not a run folder');
  });
});
