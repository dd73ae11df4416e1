import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { flinch, useFolder } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const folder = useFolder();

const run = (...more: string[]) =>
  flinch([
    ...['bench', 'run', '--model', REASONER, '--suite', 'tasks', '--limit', '4', '--temperature', '1'],
    ...['--measures', 'nll', '--score', 'all', '--out', folder.path('run'), ...more],
  ]);

async function stagesLeft(): Promise<string[]> {
  const { stdout } = await flinch(['bench', 'status', folder.path('run'), '--json']);
  return JSON.parse(stdout).stages.map(({ stage }: { stage: string }) => stage);
}

it('status lists the stages that a run was asked for, in any command', async () => {
  const generate = () => run('--stages', 'check,generate');
  expect((await generate()).code).toBe(0);
  expect(await stagesLeft()).toEqual(['generate', 'check']);
  // Runs of earlier versions do not say.
  rmSync(folder.path('run/stages.json'));
  expect(await stagesLeft()).toEqual(['generate', 'check', 'score']);
  await generate();
  expect((await run('--stages', 'score')).code).toBe(0);
  expect(await stagesLeft()).toEqual(['generate', 'check', 'score']);
});
