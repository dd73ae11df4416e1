import { readdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SCORING, METHODS, ModelError, readCalibration } from '#src/index.js';
import { distributionOf } from '#src/numerics/distribution.js';
import { parseCalibration, withCalibration } from '#src/risk/calibration.js';
import { readKeptCalibration, writeCalibration } from '#src/risk/calibration-file.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import { aCalibration, MODEL } from '../support/calibration.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();
const file = withCalibration(null, MODEL, aCalibration());
const text = JSON.stringify(file);
const whole = aCalibration();
const { tokens } = whole.methods.adversarial!;

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
    const inEights = { ...DEFAULT_SCORING, schedule: { kind: 'windowed', block: 8, window: 'all' } } as const;
    const added = aCalibration(inEights, ['adversarial', 'nll']);
    const { adversarial, nll } = added.methods;
    const scores = Array.from({ length: 1000 }, (_, i) => (i < 250 ? Number.NEGATIVE_INFINITY : i / 100));
    const skipping = { ...adversarial!, tokens: distributionOf(scores, added.levels) };
    expect(skipping.tokens.skipped).toBe(250);
    const both = withCalibration(file, MODEL, { ...added, methods: { adversarial: skipping, nll: nll! } });
    await writeCalibration(folder.path('a.json'), both);
    expect(await readCalibration(folder.path('a.json'))).toEqual(both);
    expect(folder.read('a.json')).toContain('"quantiles":[null,null,null,2.99,');
  });

  it('is read as it was made before answers were collected', () => {
    const { answers, peaks, ...older } = whole.methods.adversarial!;
    expect(answers?.sum?.count).toBe(100);
    const before = withCalibration(null, MODEL, { ...whole, methods: { adversarial: older } });
    expect(parseCalibration(JSON.parse(JSON.stringify(before)), 'a')).toEqual(before);
    const problemOf = (broken: object): string =>
      problem(
        JSON.stringify({
          ...before,
          calibrations: [{ ...whole, methods: { adversarial: { ...older, ...broken } } }],
        }),
      );
    const skipped = { answers: { ...answers, sum: { ...answers!.sum, skipped: 101 } } };
    const unlike = { statistic: 'mean', answers };
    expect(problemOf(unlike)).toContain('methods.adversarial.answers.mean: is missing');
    expect(problemOf(skipped)).toContain('methods.adversarial.answers.sum.skipped: exceeds count');
    const lowered = { peaks: { ...peaks, sum: { ...peaks!.sum, count: 1 } } };
    expect(problemOf(lowered)).toContain('methods.adversarial.peaks.sum.quantiles: holds more different');
  });

  it('is read in the format before statistics, and written in the present one', () => {
    const read = parseCalibration({ ...file, format: 2 }, 'a');
    expect(read.calibrations).toEqual(file.calibrations);
    expect(withCalibration(read, MODEL, read.calibrations[0]!).format).toBe(3);
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
    expect(statSync(folder.path('large.json')).size).toBeLessThan(40_000);
  });

  it('is refused by file and field', async () => {
    folder.write('broken.json', '{"format": 1');
    await expect(readCalibration(folder.path('broken.json'))).rejects.toThrow(/broken\.json: is not JSON/);
    expect(problem(text.replace('"format":3', '"format":4'))).toMatch(
      /^here\/calibration.json: format: must be 2 or 3/,
    );
    expect(problem(text.replace(MODEL, 'x'))).toContain('model: must be a SHA-256');
    expect(problem(text.replace('"alpha":0.0001,', ''))).toContain(
      'calibrations[0].settings: lacks what adversarial depends on',
    );
    expect(problem(text.replace('"derivative"', '"guess"'))).toContain(
      'settings.form: "guess" is not supported',
    );
    expect(problem(text.replace('"kind":"windowed"', '"kind":"lazy","epsilon":0.5'))).toContain(
      'calibrations[0].settings.schedule.kind: "lazy" is not supported (supported: windowed)',
    );
    expect(problem(text.replace('"count":1000', '"count":0'))).toContain('methods.adversarial.tokens.count');
    expect(problem(text.replace('"skipped":0', '"skipped":1001'))).toContain('skipped: exceeds count');
    expect(problem(text.replace('"quantiles":[0,', '"quantiles":[5,'))).toContain(
      'quantiles: must not decrease',
    );
    expect(problem(text.replace('"quantiles":[0,', '"quantiles":['))).toContain(
      'quantiles: must have one entry for each',
    );
    expect(problem(text.replace('"levels":[0,', '"levels":[0.5,'))).toContain('levels: must be ascending');
    expect(problem(text.replace('"nll"', '"perplexity"'))).toContain('calibrations[0].methods');
  });

  it.each<[string, string, string]>([
    ['another', `"stepRule":${STEP_RULE_VERSION + 1}`, `not ${STEP_RULE_VERSION + 1}`],
    ['no', '', 'but is missing'],
  ])(
    'is refused with %s version of the rule for steps, and read without it to be written anew',
    async (_, field, found) => {
      const two = withCalibration(file, MODEL, aCalibration({ ...DEFAULT_SCORING, alpha: 1e-3 }));
      const [of, other] = JSON.parse(JSON.stringify(two)).calibrations;
      const { stepRule, ...rest } = other;
      expect(stepRule).toBe(STEP_RULE_VERSION);
      const changed = { ...JSON.parse(`{${field}}`), ...rest };
      const path = folder.write('other.json', JSON.stringify({ ...two, calibrations: [of, changed] }));
      await expect(readCalibration(path)).rejects.toThrow(
        `other.json: calibrations[1].stepRule: must be ${STEP_RULE_VERSION}, the version of the rule for steps, ${found}: run flinch calibrate again`,
      );
      expect(await readKeptCalibration(path)).toEqual(file);
    },
  );

  it('is refused where it is written anew for everything else', async () => {
    for (const broken of ['[]', '{"calibrations": 1}', text.replace(MODEL, 'x')]) {
      await expect(readKeptCalibration(folder.write('else.json', broken))).rejects.toThrow(ModelError);
    }
    expect(await readKeptCalibration(folder.path('missing.json'))).toBeNull();
  });

  const bin = (from: number, to: number | null) => ({ ...tokens, from, to });
  it.each<[string, object, string]>([
    [
      'bins that overlap',
      { positions: [bin(0, 9), bin(8, 20)] },
      'positions[1].from: lies in the previous bin',
    ],
    ['a bin after the last', { positions: [bin(0, null), bin(8, 20)] }, 'positions[1].from: lies in'],
    ['a bin that ends before it begins', { positions: [bin(10, 5)] }, 'positions[0].to: must exceed from'],
    ['more quantiles than scores', { tokens: { ...tokens, count: 1 } }, 'tokens.quantiles: holds more'],
    [
      'scores of what was skipped',
      { tokens: { ...tokens, skipped: 1000 } },
      'tokens.quantiles: must be null',
    ],
    [
      'skipped scores where none was',
      { tokens: { ...tokens, quantiles: tokens.quantiles.map(() => null) } },
      'tokens.quantiles: must be null',
    ],
    [
      'more lower scores than there are',
      { tokens: { ...tokens, below: tokens.quantiles.map(() => 1000) } },
      'tokens.below: must have, for each',
    ],
    [
      'fewer lower scores than the quantile before',
      { tokens: { ...tokens, below: tokens.quantiles.map(() => 0) } },
      'tokens.below: must have, for each',
    ],
    ['too few of them', { tokens: { ...tokens, below: [0] } }, 'tokens.below: must have, for each'],
  ])('cannot hold %s', (_, changes, message) => {
    const { adversarial, ...others } = whole.methods;
    const methods = { ...others, adversarial: { ...adversarial, ...changes } };
    expect(problem(JSON.stringify({ ...file, calibrations: [{ ...whole, methods }] }))).toContain(
      `here/calibration.json: calibrations[0].methods.adversarial.${message}`,
    );
  });

  it('is read with its ties', () => {
    const scores = Array.from({ length: 1000 }, (_, i) => Math.floor(i / 30));
    const ties = distributionOf(scores, whole.levels);
    expect(ties.below).toBeDefined();
    const methods = { adversarial: { ...whole.methods.adversarial!, tokens: ties } };
    const made = { ...file, calibrations: [{ ...whole, methods }] };
    expect(parseCalibration(JSON.parse(JSON.stringify(made)), 'here')).toEqual(made);
  });
});

describe('withCalibration', () => {
  it('keeps the method that judges until another is named, and not for another model', () => {
    const judged = withCalibration(file, MODEL, aCalibration(), 'entropy');
    expect(judged.method).toBe('entropy');
    expect(withCalibration(judged, MODEL, aCalibration()).method).toBe('entropy');
    expect(withCalibration(judged, MODEL, aCalibration(), 'nll').method).toBe('nll');
    expect(withCalibration(judged, MODEL.replace(/^./, 'e'), aCalibration())).not.toHaveProperty('method');
    expect(parseCalibration(JSON.parse(JSON.stringify(judged)), 'here')).toEqual(judged);
  });

  const perturbed = aCalibration({ ...DEFAULT_SCORING, form: 'perturb' });
  const two = withCalibration(file, MODEL, perturbed);

  it('keeps calibrations with other settings and replaces the one with the same', () => {
    expect(two.calibrations).toEqual([file.calibrations[0], perturbed]);
    const again = aCalibration(DEFAULT_SCORING, DEFAULT_SCORING.methods, 500);
    expect(withCalibration(two, MODEL, again).calibrations).toEqual([perturbed, again]);
  });

  it('keeps the methods that were not collected anew', () => {
    const only = aCalibration(DEFAULT_SCORING, ['adversarial'], 500);
    const [old, ...others] = withCalibration(two, MODEL, only).calibrations;
    const { adversarial, ...rest } = file.calibrations[0]!.methods;
    expect(adversarial).toBeDefined();
    expect(old).toEqual({ ...file.calibrations[0], methods: rest });
    expect(others).toEqual([perturbed, only]);
    const all = aCalibration(DEFAULT_SCORING, DEFAULT_SCORING.methods, 300);
    const again = withCalibration(withCalibration(two, MODEL, only), MODEL, all);
    expect(again.calibrations).toEqual([perturbed, all]);
  });

  it('keeps none of another model', () => {
    const other = 'cd'.repeat(32);
    expect(withCalibration(two, other, perturbed)).toEqual({
      format: 3,
      model: other,
      calibrations: [perturbed],
    });
  });
});
