import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch } from '../../support/cli.js';

const { folder, ...runs } = useBenchRuns(
  ...['--suite', 'tasks', '--limit', '40', '--measures', 'nll,entropy'],
);
const [small, large] = [folder.path('small'), folder.path('large')];

const point = z.object({
  share: z.number(),
  closed: z.number().nullable(),
  cost: z.number(),
  paysFrom: z.number().nullable(),
});
const report = z.object({
  suite: z.literal('tasks'),
  questions: z.number(),
  models: z.object({ small: z.literal('reasoner'), large: z.literal('reasoner') }),
  ways: z.array(z.object({ by: z.string(), points: z.array(point) })),
});

async function run(name: string, temperature: string, ...options: string[]): Promise<void> {
  const { code, stderr } = await runs.run(name, '--temperature', temperature, ...options);
  expect(code, stderr).toBe(0);
}

describe('flinch bench escalate', () => {
  beforeAll(async () => {
    // The embedded model is worse at a higher temperature.
    await run('small', '1.2', '--score', 'all', '--stages', 'generate,check,score');
    await run('large', '0', '--stages', 'generate,check');
  });

  it('compares ways to hand questions on, with their controls', async () => {
    const { code, stdout, stderr } = await flinch(['bench', 'escalate', small, large, '--json']);
    expect(code, stderr).toBe(0);
    const { questions, ways } = report.parse(JSON.parse(stdout));
    expect(questions).toBeGreaterThan(30);
    const names = ways.map(({ by }) => by);
    for (const by of ['nll, sum', 'entropy, verdict', 'length of the answer', 'length of the question'])
      expect(names).toContain(by);
    expect(ways[0]?.points.map(({ share }) => share)).toEqual([0.1, 0.25, 0.5, 0.75]);
  });

  it('prints a table', async () => {
    const { stdout } = await flinch(['bench', 'escalate', small, large, '--shares', '30']);
    expect(stdout).toMatch(/^\d+ questions, right answers: reasoner 0\.\d+ \[/);
    expect(stdout).toMatch(
      /handed on by +\| +AUROC \| at 30 % \| +more than random \| +than by length \| of the gap/,
    );
    expect(stdout).toContain('If a token of reasoner costs 1 of reasoner');
    expect(stdout).toMatch(/handed on by +\| cost at 30 % \| +more than at once \| better from/);
  });

  it.each([
    [['nowhere', large], 'nowhere: is not a run folder'],
    [[large, small], `${large}: no question is scored there and checked in both; score with --score all`],
    [[small, large, '--price', '0'], 'Must be a number from 0.001 to 1000000'],
    [[small, large, '--shares', '50,100'], '"100" is not a percentage above 0 and below 100.'],
  ])('refuses %j', async (args, problem) => {
    const { code, stderr } = await flinch(['bench', 'escalate', ...args]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(problem);
  });
});
