import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch } from '../../support/cli.js';

const { folder, ...runs } = useBenchRuns(
  ...['--suite', 'tasks', '--limit', '20', '--temperature', '0.8', '--score', 'all'],
  ...['--stages', 'generate,check,sample,score'],
);
const run = folder.path('run');

const report = z.object({
  suite: z.literal('tasks'),
  model: z.literal('reasoner'),
  questions: z.number(),
  all: z.array(
    z.object({ candidates: z.number(), tokens: z.object({ all: z.number(), drawn: z.number() }) }),
  ),
  some: z.object({ ways: z.array(z.object({ by: z.string() })) }),
});

async function bench(name: string, measures: string): Promise<void> {
  const { code, stderr } = await runs.run(name, '--measures', measures);
  expect(code, stderr).toBe(0);
}

describe('flinch bench vote', () => {
  beforeAll(() => bench('run', 'nll,self_consistency:samples=4'));

  it('compares votes on all questions and on some', async () => {
    const { code, stdout, stderr } = await flinch(['bench', 'vote', run, '--json']);
    expect(code, stderr).toBe(0);
    const { questions, all, some } = report.parse(JSON.parse(stdout));
    expect(questions).toBeGreaterThan(15);
    expect(all.map(({ candidates }) => candidates)).toEqual([2, 4]);
    for (const { tokens } of all) expect(tokens.drawn).toBeLessThan(tokens.all);
    // It takes the further answers.
    expect(some.ways.filter(({ by }) => by.startsWith('self_consistency'))).toEqual([]);
    expect(some.ways.map(({ by }) => by)).toEqual(
      expect.arrayContaining(['nll, sum', 'nll, verdict', 'length of the answer', 'length of the question']),
    );
  });

  it('prints tables', async () => {
    const { stdout } = await flinch(['bench', 'vote', run, '--shares', '30']);
    expect(stdout).toMatch(/^\d+ questions, right answers of reasoner: 0\.\d+ \[/);
    expect(stdout).toMatch(/further answers \| +right \|/);
    expect(stdout).toMatch(/voted on by +\| +AUROC \| at 30 % \|/);
    expect(stdout).toMatch(/30 % voted on takes \d+ % of what all 5 answers to every question do/);
  });

  it('names what is missing', async () => {
    await bench('other', 'nll');
    const { code, stderr } = await flinch(['bench', 'vote', folder.path('other')]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('use --score all and --measures self_consistency');
  });
});
