import { beforeAll, describe, expect, it } from 'vitest';
import { flinch, lab, useFolder } from '../../support/cli.js';

const { path } = useFolder();

const bench = (out: string, seed: number, score: string, measures = 'entropy,nll') =>
  flinch([
    ...['bench', 'run', '--suite', 'tasks', '--limit', '40', '--temperature', '1.5', '--seed', String(seed)],
    ...['--score', score, '--measures', measures, '--out', path(out)],
  ]);

describe('npm run lab -- detectors', () => {
  beforeAll(async () => {
    await bench('first', 1, 'all');
    await bench('second', 2, 'all');
    await bench('wrong', 1, 'wrong');
    await bench('other', 2, 'all', 'entropy');
  });

  it('chooses on one run and tests on another', async () => {
    const { code, stdout } = await lab(['detectors', path('first'), '--test', path('second'), '--json']);
    expect(code).toBe(0);
    const { choice, chosenOn, testedOn } = JSON.parse(stdout);
    expect(chosenOn[0].wrong).toBeGreaterThan(5);
    expect(testedOn[0]).toMatchObject({ name: expect.stringMatching(/^tasks/), answers: 40 });
    const names = testedOn[0].detections.map(({ name }: { name: string }) => name);
    expect(names).toContain(choice.chosen);
    const table = (await lab(['detectors', path('first')])).stdout;
    expect(table).toContain(`By the rule, the choice is ${choice.chosen}.`);
  });

  it('refuses runs that it cannot compare', async () => {
    expect((await lab(['detectors', path('wrong')])).stderr).toContain('is not a run with --score all');
    expect((await lab(['detectors', path('first'), '--test', path('other')])).stderr).toContain(
      'has the measures entropy, the first run',
    );
    expect((await lab(['detectors', path('nowhere')])).stderr).toContain('is not a run folder');
  });
});
