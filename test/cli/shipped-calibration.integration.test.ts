import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { uncalibrated } from '#cli/uncalibrated.js';
import { guardInForce } from '#gateway/answers/guarding.js';
import { RiskModels } from '#gateway/models/risk-models.js';
import type { AskedGuard } from '#gateway/requests/guard-limits.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { calibrationOf, DEFAULT_SCORING, openCheckpoint, readCalibration } from '#src/index.js';
import { writeCalibration } from '#src/risk/calibration-file.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { askedOf } from '../support/answers.js';
import { flinch, jsonLines, modelFacts, useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { QUESTION } from '../support/requests.js';

const SHIPPED = 'models/calibrations';
const GGUF = 'test/fixtures/gguf/tiny-llama.gguf';

const folder = useFolder();
const calibrationsPath = vi.hoisted(() => {
  vi.resetModules(); // what the set-up of all tests imported has the folder of the package
  return `${process.env.TMPDIR ?? '/tmp'}/flinch-shipped-${process.pid}`;
});
vi.mock('#src/package-root.js', async (original) => ({
  ...(await original<typeof import('#src/package-root.js')>()),
  calibrationsPath,
}));

/** A model with a calibration that flags every step, which flinch ships: it is not beside the model. */
let model: string;
beforeAll(async () => {
  mkdirSync(calibrationsPath);
  const calibrated = await calibratedReasoner(folder.path('calibrated'), 1e-9);
  const id = await fingerprint(await openCheckpoint(calibrated));
  const file = await readCalibration(join(calibrated, 'calibration.json'));
  await writeCalibration(join(calibrationsPath, `${id}.json`), { ...file!, method: 'adversarial' });
  model = folder.path('under-any-name');
  cpSync(calibrated, model, { recursive: true, filter: (file) => !file.endsWith('calibration.json') });
});
afterAll(() => rmSync(calibrationsPath, { recursive: true }));

const placeOf = async (path: string): Promise<unknown> =>
  modelFacts((await flinch(['doctor', path, '--port', '0', '--json'])).stdout).calibration;

async function flagOf(...more: readonly string[]): Promise<unknown> {
  const chat = ['chat', '--model', model, '--temperature', '0', '--json', '--rate', '0.5', ...more, QUESTION];
  return jsonLines((await flinch(chat)).stdout).find(({ type }) => type === 'step.flagged');
}

describe('a calibration that comes with flinch', () => {
  it('holds for its model without an option, in flinch chat and in the gateway', async () => {
    const checkpoint = await openCheckpoint(model);
    expect(await uncalibrated(checkpoint)).toBeNull();
    const risks = await RiskModels.open(checkpoint, pino({ level: 'silent' }));
    expect((await risks.rate(DEFAULT_SCORING, { client: 'a' })).risks.calibrated('nll')).toBe(true);
    expect(await flagOf()).toMatchObject({ calibrated: true });
  });

  it('names the method that judges, where nobody says otherwise', async () => {
    expect(await flagOf()).toMatchObject({ method: 'adversarial' });
    expect(await flagOf('--method', 'nll')).toMatchObject({ method: 'nll' });
    expect(await flagOf('--color', 'nll')).toMatchObject({ method: 'nll' });
    const checkpoint = await openCheckpoint(model);
    const risks = await RiskModels.open(checkpoint, pino({ level: 'silent' }));
    const fields = { model: 'm', messages: [] };
    const settingsOf = async (guard: AskedGuard) =>
      (await guardInForce(askedOf({ ...fields, guard }), { judge: risks })).settings;
    expect(await settingsOf({})).toMatchObject({ method: 'adversarial', methods: DEFAULT_METHODS });
    expect(await settingsOf({ method: 'nll' })).toMatchObject({ method: 'nll', methods: DEFAULT_METHODS });
    expect(await settingsOf({ methods: ['nll', 'entropy'] })).toMatchObject({ method: 'entropy' });
    expect(await settingsOf({ methods: ['entropy', 'adversarial', 'nll'] })).toMatchObject({
      method: 'adversarial',
    });
  });

  it('gives way to one that is given, which must be there', async () => {
    const [shipped] = readdirSync(calibrationsPath);
    const own = folder.path('mine.json');
    const file = await readCalibration(join(calibrationsPath, shipped!));
    await writeCalibration(own, { ...file!, method: 'margin' });
    expect(await flagOf('--calibration', own)).toMatchObject({ calibrated: true, method: 'margin' });
    const checkpoint = await openCheckpoint(model, { calibrationFile: own });
    expect((await RiskModels.open(checkpoint, pino({ level: 'silent' }))).judge).toBe('margin');
    const missing = await flinch(['chat', '--model', model, '--calibration', 'no.json', QUESTION]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/no\.json: no such file/) });
  });

  it('gives its method to the one that is made instead of it', async () => {
    const [output, input] = [folder.path('made.json'), folder.path('problems.jsonl')];
    const problems = readFileSync('models/reasoner/problems.jsonl', 'utf8').split('\n');
    folder.write('problems.jsonl', problems.slice(0, 16).join('\n'));
    const made = async (...more: readonly string[]) =>
      (await flinch(['calibrate', '--model', model, '--input', input, '--output', output, ...more])).stdout;
    expect(await made('--methods', 'adversarial')).toContain('\njudged by adversarial, as before: a step ');
    expect((await readCalibration(output))?.method).toBe('adversarial');
    expect(await made('--methods', 'nll,margin', '--method', 'margin')).toContain(
      '\njudged by margin, as --method says: a step ',
    );
    const again = await made('--methods', 'nll,margin');
    // The threshold of the table's row, at the guard's rate.
    const [, threshold] = /^margin +step +\d+ +0 % +(\S+) /m.exec(again) ?? [];
    expect(again).toContain(`\njudged by margin, as before: a step above ${threshold} is flagged (2 % of`);
    expect(again.search(/^margin +token/m)).toBeLessThan(again.search(/^nll +token/m));
    expect(again).toContain(`\nServe it:  flinch serve --model ${model} --calibration ${output}\n`);
  });

  it('is named by flinch doctor', async () => {
    expect(await placeOf(model)).toBe('shipped');
    const { stdout } = await flinch(['doctor', model, '--port', '0']);
    expect(stdout).toMatch(/calibration under-any-name +shipped for this model\n/);
    expect(await placeOf('models/reasoner')).toBe('own');
    expect(await placeOf(checkpointFolder('tiny-llama'))).toBe('none');
  });

  it('gives way to one beside the model, even to that of another model', async () => {
    const copy = folder.path('copy');
    cpSync(model, copy, { recursive: true });
    cpSync('models/reasoner/calibration.json', join(copy, 'calibration.json'));
    const own = await readCalibration('models/reasoner/calibration.json');
    expect(await calibrationOf(await openCheckpoint(copy))).toEqual(own);
    expect(await placeOf(copy)).toBe('own');
    folder.write('copy/calibration.json', JSON.stringify({ ...own, model: '0'.repeat(64) }));
    expect(await placeOf(copy)).toBe('of another model');
  });

  it('is not known of a GGUF file before its weights are converted', async () => {
    vi.stubEnv('XDG_CACHE_HOME', folder.path('cache'));
    try {
      expect(await placeOf(GGUF)).toBe('unknown');
      await openCheckpoint(GGUF);
      expect(await placeOf(GGUF)).toBe('none');
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe(SHIPPED, () => {
  it('has files named after the fingerprint of their model', async () => {
    const files = readdirSync(SHIPPED).filter((name) => name.endsWith('.json'));
    for (const name of files) {
      expect(`${(await readCalibration(join(SHIPPED, name)))?.model}.json`).toBe(name);
      expect(readFileSync(join(SHIPPED, 'README.md'), 'utf8')).toContain(name.slice(0, 8));
    }
  });
});
