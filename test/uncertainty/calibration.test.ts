import { readdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SCORING, METHODS, ModelError, readCalibration } from '#src/index.js';
import { parseCalibration, withCalibration } from '#src/uncertainty/calibration.js';
import { writeCalibration } from '#src/uncertainty/calibration-file.js';
import { aCalibration, MODEL } from '../support/calibration.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();
const file = withCalibration(null, MODEL, aCalibration());
const text = JSON.stringify(file);

function problem(broken: string): string {
  expect(broken).not.toBe(text);
  try {
    parseCalibration(JSON.parse(broken), 'here/calibration.json');
  } catch (error) {
    expect(error).toBeInstanceOf(ModelError);
    return error instanceof Error ? error.message : '';
  }
  return 'none';
}

describe('calibration.json', () => {
  it('is read as it was written, with what was skipped', async () => {
    const lazy = {
      ...DEFAULT_SCORING,
      schedule: { kind: 'lazy', block: 8, window: 'all', epsilon: 0.01 },
    } as const;
    const added = aCalibration(lazy, ['adversarial', 'nll']);
    const { adversarial, nll } = added.methods;
    const quantiles = added.levels.map((_, i) => (i < 3 ? Number.NEGATIVE_INFINITY : i));
    const skipping = { ...adversarial!, tokens: { count: 1000, skipped: 250, quantiles } };
    const both = withCalibration(file, MODEL, { ...added, methods: { adversarial: skipping, nll: nll! } });
    await writeCalibration(folder.path('a.json'), both);
    expect(await readCalibration(folder.path('a.json'))).toEqual(both);
    expect(folder.read('a.json')).toContain('"quantiles":[null,null,null,3,');
  });

  it('is missing, or all there: nothing is left of an attempt that fails', async () => {
    expect(await readCalibration(folder.path('missing.json'))).toBeNull();
    await mkdir(folder.path('taken.json'));
    await expect(writeCalibration(folder.path('taken.json'), file)).rejects.toThrow('EISDIR');
    expect(readdirSync(folder.path('.')).filter((name) => name.includes('tmp'))).toEqual([]);
  });

  it('stays small, whatever it was collected from', async () => {
    const scoring = { ...DEFAULT_SCORING, methods: METHODS };
    await writeCalibration(
      folder.path('large.json'),
      withCalibration(null, MODEL, aCalibration(scoring, METHODS, 50_000)),
    );
    expect(statSync(folder.path('large.json')).size).toBeLessThan(30_000);
  });

  it('is refused by file and field', async () => {
    folder.write('broken.json', '{"format": 1');
    await expect(readCalibration(folder.path('broken.json'))).rejects.toThrow(/broken\.json: is not JSON/);
    expect(problem(text.replace('"format":1', '"format":2'))).toMatch(
      /^here\/calibration.json: format: must be 1/,
    );
    expect(problem(text.replace(MODEL, 'x'))).toContain('model: must be a SHA-256');
    expect(problem(text.replace('"alpha":0.0001,', ''))).toContain(
      'calibrations[0].settings: lacks what adversarial depends on',
    );
    expect(problem(text.replace('"perturb"', '"guess"'))).toContain(
      'settings.form: "guess" is not supported',
    );
    expect(problem(text.replace('"count":1000', '"count":0'))).toContain('methods.adversarial.tokens.count');
    expect(problem(text.replace('"skipped":0', '"skipped":1001'))).toContain('skipped: exceeds count');
    expect(problem(text.replace('"quantiles":[0,', '"quantiles":[5,'))).toContain('quantiles: must not fall');
    expect(problem(text.replace('"quantiles":[0,', '"quantiles":['))).toContain(
      'quantiles: needs one for each',
    );
    expect(problem(text.replace('"levels":[0,', '"levels":[0.5,'))).toContain('levels: must ascend');
    expect(problem(text.replace('"nll"', '"perplexity"'))).toContain('calibrations[0].methods');
  });
});

describe('withCalibration', () => {
  const derivative = aCalibration({ ...DEFAULT_SCORING, form: 'derivative' });
  const two = withCalibration(file, MODEL, derivative);

  it('keeps calibrations with other settings and replaces the one with the same', () => {
    expect(two.calibrations).toEqual([file.calibrations[0], derivative]);
    const again = aCalibration(DEFAULT_SCORING, DEFAULT_SCORING.methods, 500);
    expect(withCalibration(two, MODEL, again).calibrations).toEqual([derivative, again]);
  });

  it('keeps the methods that were not collected anew', () => {
    const only = aCalibration(DEFAULT_SCORING, ['adversarial'], 500);
    const [old, ...others] = withCalibration(two, MODEL, only).calibrations;
    const { adversarial, ...rest } = file.calibrations[0]!.methods;
    expect(adversarial).toBeDefined();
    expect(old).toEqual({ ...file.calibrations[0], methods: rest });
    expect(others).toEqual([derivative, only]);
    const all = aCalibration(DEFAULT_SCORING, DEFAULT_SCORING.methods, 300);
    const again = withCalibration(withCalibration(two, MODEL, only), MODEL, all);
    expect(again.calibrations).toEqual([derivative, all]);
  });

  it('keeps none of another model', () => {
    const other = 'cd'.repeat(32);
    expect(withCalibration(two, other, derivative)).toEqual({
      format: 1,
      model: other,
      calibrations: [derivative],
    });
  });
});
