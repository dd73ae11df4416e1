import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCalibration } from '#src/risk/calibration.js';
import type { Statistic } from '#src/risk/risk.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const { folder, run } = useBenchRuns(
  ...['--model', REASONER, '--suite', 'tasks', '--temperature', '1', '--score', 'all'],
);
const calibrate = (name: string, ...more: string[]) =>
  flinch(['bench', 'calibrate', folder.path(name), ...more]);

describe('flinch bench calibrate', () => {
  it('makes a calibration that a guard can use', async () => {
    expect(await run('tasks', '--limit', '90', '--measures', 'nll,entropy,adversarial')).toMatchObject({
      code: 0,
    });
    const made = await calibrate('tasks', '--json');
    expect(made.stderr).toBe('');
    const told = JSON.parse(made.stdout);
    const file = join(folder.path('tasks'), 'calibration.json');
    const { method, calibrations } = parseCalibration(
      JSON.parse(folder.read('tasks/calibration.json')),
      file,
    );
    expect(calibrations).toHaveLength(1);
    expect(Object.keys(calibrations[0]!.methods).toSorted()).toEqual(['entropy', 'nll']);
    expect(calibrations[0]!.collected).toMatchObject({ answers: 'right', responses: 90, temperature: 1 });
    expect(method).toBe(told.choice.chosen.method);
    const { statistic } = told.choice.chosen;
    expect(told.choice.right + told.choice.wrong).toBe(90);
    expect(calibrations[0]!.methods.nll!.answers![statistic as Statistic]!.count).toBe(told.choice.right);

    // Wrong answers are not in it, so that right ones of the same kind are flagged at about the rate.
    const checked = await flinch([
      ...['calibrate', '--model', REASONER, '--check', '30', '--temperature', '1', '--json'],
      ...['--input', `${REASONER}/problems.jsonl`, '--methods', 'nll', '--output', file],
    ]);
    expect(checked.code, checked.stderr).toBe(0);
    expect(JSON.parse(checked.stdout).falseAlarms.length).toBeGreaterThan(0);

    // A second time it replaces its own.
    await calibrate('tasks');
    expect(
      parseCalibration(JSON.parse(folder.read('tasks/calibration.json')), file).calibrations,
    ).toHaveLength(1);
  });

  it('says what a run lacks', async () => {
    await run('few', '--limit', '2', '--measures', 'nll');
    expect((await calibrate('few')).stderr).toMatch(
      /steps of right answers are too few; at least \d+ and \d+/,
    );
    await run('passes', '--limit', '1', '--measures', 'adversarial');
    expect((await calibrate('passes')).stderr).toContain('has no scores of nll, entropy, margin');
    expect((await calibrate('none')).stderr).toContain('is not a run folder');
  });
});
