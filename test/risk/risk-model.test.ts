import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import {
  type AbsoluteScoring,
  type CalibrationFile,
  type Checkpoint,
  DEFAULT_SCORING,
  openCheckpoint,
  riskModel,
} from '#src/index.js';
import { type MethodCalibration, withCalibration } from '#src/risk/calibration.js';
import { MIN_ANSWERS } from '#src/risk/running-risk.js';
import { aCalibration } from '../support/calibration.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';

const folder = useFolder();
const tiny = checkpointFolder('tiny-llama');

/** A copy of a tiny model, with the last bit of a file changed. */
async function opened(name: string, file?: string): Promise<Checkpoint> {
  cpSync(tiny, folder.path(name), { recursive: true });
  if (file) {
    const path = folder.path(`${name}/${file}`);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(path, bytes);
  }
  return openCheckpoint(folder.path(name));
}

describe('a fingerprint', () => {
  it('does not depend on the folder, and changes with the weights and what surrounds them', async () => {
    const original = await fingerprint(await openCheckpoint(tiny));
    expect(original).toMatch(/^[0-9a-f]{64}$/);
    expect(await fingerprint(await opened('copy'))).toBe(original);
    expect(await fingerprint(await opened('weights', 'model-00002-of-00002.safetensors'))).not.toBe(original);
    cpSync(tiny, folder.path('space'), { recursive: true });
    writeFileSync(folder.path('space/config.json'), `${readFileSync(`${tiny}/config.json`, 'utf8')}\n`);
    expect(await fingerprint(await openCheckpoint(folder.path('space')))).not.toBe(original);
  });
});

describe('riskModel', () => {
  let checkpoint: Checkpoint;
  let file: CalibrationFile;

  beforeAll(async () => {
    checkpoint = await openCheckpoint(tiny);
    file = withCalibration(null, await fingerprint(checkpoint), aCalibration());
  });

  const using = (changes: Partial<AbsoluteScoring>, methods = DEFAULT_SCORING.methods) =>
    riskModel(checkpoint, file, { ...DEFAULT_SCORING, ...changes }, methods);

  it('goes by a calibration with the same settings', async () => {
    const { risks, warnings } = await using({});
    expect(warnings).toEqual([]);
    expect(risks.calibrated('adversarial')).toBe(true);
    expect(risks.ofToken('adversarial', 0.5, 0)).toBeCloseTo(0.5, 2);
    expect(risks.ofStep('nll', 20)).toBe(100 / 101);
  });

  it('goes by a running estimate for those methods alone whose settings differ, and says so', async () => {
    const { risks, warnings } = await using({
      alpha: 1e-3,
      schedule: { kind: 'windowed', block: 4, window: 32 },
    });
    expect(warnings).toEqual([
      'calibration.json was made for block 16, not 4, alpha 0.0001, not 0.001: flags by adversarial use a running estimate',
    ]);
    expect(risks.calibrated('adversarial')).toBe(false);
    expect(risks.ofToken('adversarial', 0.5, 0)).toBeNull();
    for (let i = 0; i < 200; i++) risks.ofToken('adversarial', i, 0);
    expect(risks.ofToken('adversarial', 1000, 0)).toBe(201 / 202);
    expect(risks.calibrated('nll')).toBe(true);
    expect(risks.ofToken('nll', 0.5, 0)).toBeCloseTo(0.5, 2);
  });

  it('ranks answers by a running estimate where the calibration has none', async () => {
    const { risks } = await using({});
    expect(risks.calibrated('nll', 'answer')).toBe(true);
    expect(risks.ofAnswer('nll', 20)).toBe(100 / 101);
    const calibrations = file.calibrations.map((calibration) => ({
      ...calibration,
      methods: Object.fromEntries(
        Object.entries(calibration.methods).map(([method, { answers: _, ...rest }]) => [method, rest]),
      ),
    }));
    const older = await riskModel(checkpoint, { ...file, calibrations }, DEFAULT_SCORING, ['nll']);
    expect(older.risks.calibrated('nll')).toBe(true);
    expect(older.risks.calibrated('nll', 'answer')).toBe(false);
    for (let i = 0; i < MIN_ANSWERS; i++) expect(older.risks.ofAnswer('nll', i)).toBeNull();
    expect(older.risks.ofAnswer('nll', 2)).toBe(2 / 51);
  });

  it('ranks answers among all that were collected, right or wrong', async () => {
    const [calibration] = file.calibrations;
    const { nll } = calibration!.methods;
    // Ten tokens whose sum is half of the largest.
    const middle = 5 / Math.sqrt(10);
    const rank = async (answers: 'all' | 'right', all?: MethodCalibration['all']) => {
      const collected = { ...calibration!.collected, answers };
      const only = { ...calibration!, collected, methods: { nll: { ...nll!, all } } };
      const { risks } = await riskModel(checkpoint, { ...file, calibrations: [only] }, DEFAULT_SCORING, [
        'nll',
      ]);
      return risks.ofAnswer('nll', middle, 'all');
    };
    expect(await rank('all')).toBeCloseTo(0.5, 2);
    // Nothing is known of those that were not right.
    expect(await rank('right')).toBeNull();
    const { quantiles, ...rest } = nll!.answers!.sum!;
    const higher = { ...rest, quantiles: quantiles.map((score) => score + middle / 2) };
    expect(await rank('right', { sum: higher })).toBeCloseTo(0.25, 1);
  });

  it('says which methods were never calibrated', async () => {
    const { risks, warnings } = await using({}, ['random', 'entropy']);
    expect(warnings).toEqual([
      'calibration.json does not contain random: flags by random use a running estimate',
    ]);
    expect(risks.calibrated('entropy')).toBe(true);
  });

  it('takes of several calibrations the one that holds', async () => {
    const perturbed = aCalibration({ ...DEFAULT_SCORING, form: 'perturb' }, ['adversarial'], 100);
    const noise = { sigma: 0.01, samples: 5, seed: 0 };
    const random = aCalibration({ ...DEFAULT_SCORING, random: noise }, ['random'], 200);
    const all = [perturbed, random].reduce((before, one) => withCalibration(before, file.model, one), file);
    const scoring = { ...DEFAULT_SCORING, random: { ...noise, seed: 7 } };
    const derived = await riskModel(checkpoint, all, scoring, ['adversarial', 'random', 'nll']);
    expect(derived.warnings).toEqual([]);
    expect(derived.risks.ofToken('adversarial', 2, 0)).toBe(1000 / 1001);
    expect(derived.risks.ofToken('random', 2, 0)).toBe(200 / 201);
    const other = await riskModel(checkpoint, all, { ...scoring, form: 'perturb' }, [
      'adversarial',
      'random',
    ]);
    expect(other.risks.ofToken('adversarial', 2, 0)).toBe(100 / 101);
    expect(other.warnings).toEqual([]);
    expect(other.risks.ofToken('random', 2, 0)).toBe(200 / 201);
  });

  it('goes by what was collected last for each method under the same settings', async () => {
    const anew = aCalibration(DEFAULT_SCORING, ['adversarial'], 200);
    const both = withCalibration(file, file.model, anew);
    const { risks, warnings } = await riskModel(checkpoint, both, DEFAULT_SCORING, DEFAULT_SCORING.methods);
    expect(warnings).toEqual([]);
    expect(risks.ofToken('adversarial', 2, 0)).toBe(200 / 201);
    expect(risks.ofToken('nll', 2, 0)).toBe(1000 / 1001);
  });

  it('goes by nothing that was made for another model, nor by nothing at all', async () => {
    const other = await opened('other', 'model-00002-of-00002.safetensors');
    const { risks, warnings } = await riskModel(other, file, DEFAULT_SCORING, ['nll']);
    expect(warnings).toEqual(['calibration.json was made for another model: flags use a running estimate']);
    expect(risks.calibrated('nll')).toBe(false);
    const none = await riskModel(checkpoint, null, DEFAULT_SCORING, ['nll']);
    expect(none.warnings[0]).toContain('there is no calibration.json');
    expect(none.risks.calibrated('nll')).toBe(false);
  });
});
