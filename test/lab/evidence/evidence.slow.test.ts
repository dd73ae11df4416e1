import { readFile, writeFile } from 'node:fs/promises';
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
    expect(await collect('both.json', 'first', 'second')).toMatchObject({
      code: 0,
      stderr: 'first: 40 answers\nsecond: 40 answers\n',
    });
    const tables = ['evidence', 'tables', path('both.json'), '--test', 'second'];
    const { code, stdout } = await lab(tables);
    expect(code).toBe(0);
    for (const name of ['all sets', 'first, steps', 'second, hits'])
      expect(stdout).toContain(`${name}\n\n| `);
    const [choice] = /By the rule, the choice is .+\n$/.exec(stdout)!;

    const page = path('page.md');
    await writeFile(page, '# Page\n\n<!-- table: second, hits -->\n\nText.\n');
    expect((await lab([...tables, '--into', page])).stdout).toContain(choice);
    expect(await readFile(page, 'utf8')).toMatch(
      /^# Page\n\n<!-- .+ -->\n\n\| measure +\|.*\n(\|.*\n)+\nText\.\n$/,
    );
    await writeFile(page, '<!-- table: second, differences -->\n\n');
    expect((await lab([...tables, '--into', page])).stderr).toContain(
      'there is no table second, differences',
    );
  });

  it('refuses what does not belong together', async () => {
    await bench('wrong', 'wrong', 'entropy', 1);
    expect((await collect('new.json', 'wrong')).stderr).toContain('has scores of wrong responses alone');
    expect((await collect('new.json', 'nowhere')).stderr).toContain('is not a run folder');
  });
});
