import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { flinch, lab, useFolder } from '../../support/cli.js';

const { path } = useFolder();

const bench = (out: string, seed: number, score: string, measures = 'entropy,nll') =>
  flinch([
    ...['bench', 'run', '--suite', 'tasks', '--limit', '40', '--temperature', '1.5', '--seed', String(seed)],
    ...['--score', score, '--measures', measures, '--out', path(out)],
  ]);

describe('npm run lab -- evidence', () => {
  beforeAll(async () => {
    await bench('first', 1, 'all');
    await bench('second', 2, 'all');
    await bench('wrong', 1, 'wrong');
    await bench('other', 2, 'all', 'entropy');
  });

  it('chooses on one run and tests on another', async () => {
    const { code, stdout } = await lab(['evidence', path('first'), '--test', path('second'), '--json']);
    expect(code).toBe(0);
    const { choice, chosenOn, testedOn } = JSON.parse(stdout);
    expect(chosenOn[0].wrong).toBeGreaterThan(5);
    expect(testedOn[0]).toMatchObject({ name: expect.stringMatching(/^tasks/), answers: 40 });
    const names = testedOn[0].detections.map(({ name }: { name: string }) => name);
    expect(names).toContain(choice.chosen);
    const tables = (await lab(['evidence', path('first')])).stdout;
    expect(tables).toContain(`By the rule, the choice is ${choice.chosen}.`);
    for (const row of ['chance', 'longest first', 'first tokens of steps'])
      expect(tables).toMatch(new RegExp(`^\\| ${row} +\\|`, 'm'));
  });

  it('writes the tables of runs into pages', async () => {
    const page = path('page.md');
    await writeFile(page, '# Page\n\n<!-- table: second, hits -->\n\nText.\n');
    const args = ['evidence', path('first'), '--test', path('second'), '--into', page];
    expect(await lab(args)).toMatchObject({ code: 0, stdout: '' });
    expect(await readFile(page, 'utf8')).toMatch(
      /^# Page\n\n<!-- .+ -->\n\n\| measure +\|.*\n(\|.*\n)+\nText\.\n$/,
    );
    await writeFile(page, '<!-- table: second, differences -->\n\n');
    expect((await lab(args)).stderr).toContain('there is no table second, differences');
  });

  it('refuses runs that it cannot compare', async () => {
    expect((await lab(['evidence', path('wrong')])).stderr).toContain('is not a run with --score all');
    expect((await lab(['evidence', path('first'), '--test', path('other')])).stderr).toContain(
      'has the measures entropy, the first run',
    );
    expect((await lab(['evidence', path('nowhere')])).stderr).toContain('is not a run folder');
  });
});
