import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { EngineModel } from '#gateway/index.js';
import { RiskModels } from '#gateway/models/risk-models.js';
import { chatSchema } from '#gateway/requests/generation-request.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import {
  type Checkpoint,
  DEFAULT_SCORING,
  Engine,
  ModelError,
  openCheckpoint,
  type RiskModel,
} from '#src/index.js';
import { withCalibration } from '#src/risk/calibration.js';
import { calibrationFileOf, writeCalibration } from '#src/risk/calibration-file.js';
import { answerOf } from '../../support/answers.js';
import { aCalibration } from '../../support/calibration.js';
import { useFolder } from '../../support/cli.js';
import { chatBody } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';

const folder = useFolder();
let checkpoint: Checkpoint;
beforeAll(async () => {
  checkpoint = await openCheckpoint(await calibratedReasoner(folder.path('reasoner'), 1));
});

const withAlpha = (alpha: number) => ({ ...DEFAULT_SCORING, alpha });

/** Tells a running estimate of ordinary scores. */
function teach(risks: RiskModel, scores: (i: number) => number, count = 500): void {
  for (let i = 0; i < count; i++) {
    risks.ofToken('adversarial', scores(i), i);
    risks.ofStep('adversarial', scores(i));
  }
}
const garbage = (i: number): number => 1000 + i;
const ordinary = (i: number): number => (i % 100) / 100;

describe('RiskModels', () => {
  it('goes on with the estimate of a client under the same settings, and logs once what does not hold', async () => {
    const lines: string[] = [];
    const models = await RiskModels.open(checkpoint, pino({}, { write: (line) => lines.push(line) }));
    const rankOf = async (alpha: number, client: string) =>
      (await models.rate(withAlpha(alpha), { client })).risks.ofStep('adversarial', 2);
    const first = await models.rate(withAlpha(2e-4), { client: 'a' });
    teach(first.risks, ordinary);
    expect(await rankOf(2e-4, 'a')).toBe(500 / 501);
    expect(await rankOf(3e-4, 'a')).toBeNull();
    expect(await rankOf(2e-4, 'b')).toBeNull();
    expect(first.warnings).toHaveLength(1);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('alpha 0.0001, not 0.0002');
    expect((await models.rate(DEFAULT_SCORING, { client: 'a' })).warnings).toEqual([]);
    expect(lines).toHaveLength(2);
  });

  it('lets no client move what another is judged by', async () => {
    const models = await RiskModels.open(checkpoint, pino({ level: 'silent' }));
    const risksOf = async (client: string) => (await models.rate(withAlpha(0.5), { client })).risks;
    teach(await risksOf('b'), ordinary);
    const before = (await risksOf('b')).ofStep('adversarial', 0.995);
    for (let i = 0; i < 25; i++) teach(await risksOf('a'), garbage);
    expect(before).toBeGreaterThan(0.99);
    expect((await risksOf('b')).ofStep('adversarial', 0.995)).toBeGreaterThan(0.99);
    expect((await risksOf('a')).ofStep('adversarial', 0.995)).toBe(0);
  });
});

describe('a calibration that is written while a model is served', () => {
  const judgeAfter = async (models: RiskModels) => {
    await setTimeout(1100);
    await models.refresh();
    return models.judge;
  };

  it('is taken over, and one that cannot be read is not', async () => {
    const lines: string[] = [];
    const dir = await calibratedReasoner(folder.path('written-anew'), 1);
    const own = await openCheckpoint(dir);
    const models = await RiskModels.open(own, pino({}, { write: (line) => lines.push(line) }));
    const rankOf = async () =>
      (await models.rate(DEFAULT_SCORING, { client: 'a' })).risks.ofStep('adversarial', 0.25) ?? 0;
    expect([models.judge, await rankOf()]).toEqual(['nll', expect.closeTo(0.5, 1)]);
    const file = calibrationFileOf(own);
    const model = await fingerprint(own);
    const anew = withCalibration(
      null,
      model,
      aCalibration(DEFAULT_SCORING, ['adversarial'], 1000, 10),
      'adversarial',
    );
    await writeCalibration(file, anew);
    expect(await judgeAfter(models)).toBe('adversarial');
    expect(await rankOf()).toBeLessThan(0.1);
    writeFileSync(file, '{"format": 0}');
    expect(await judgeAfter(models)).toBe('adversarial');
    expect(await judgeAfter(models)).toBe('adversarial');
    const said = lines.map((line) => JSON.parse(line).msg);
    expect(said.filter((text) => /^calibration (taken|refused)/.test(text))).toEqual([
      'calibration taken over',
      'calibration refused; the one before holds',
    ]);
  });
});

describe('a rate that is too low for the calibration', () => {
  it('is told with the guard in force, and logged once', async () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => lines.push(line) });
    const engine = await Engine.open(checkpoint.dir);
    try {
      const models = await EngineModel.open('reasoner', engine, logger);
      const guardWith = async (guard: object) =>
        (await answerOf(models, chatSchema.parse(chatBody({ guard: { method: 'nll', ...guard } })))).guard;
      const tooLow = [expect.stringContaining('no step is ever flagged by nll at a rate below 0.0099')];
      expect(await guardWith({ rate: 0.005 })).toMatchObject({ calibrated: true, warnings: tooLow });
      expect(await guardWith({ rate: 0.006 })).toMatchObject({ warnings: tooLow });
      expect(lines).toEqual(tooLow);
      expect(await guardWith({ rate: 0.02 })).not.toHaveProperty('warnings');
      expect(await guardWith({ rate: 0.02, per: 'answer' })).toMatchObject({ calibrated: true });
      await expect(guardWith({ rate: 0.005, per: 'answer' })).rejects.toThrow('needs a calibration with 199');
      const other = { method: 'adversarial', scoring: { alpha: 0.5 } };
      await expect(guardWith({ ...other, per: 'answer' })).rejects.toThrow('needs a calibration of adv');
      const { warnings } = await guardWith({ ...other, rate: 0.005 });
      expect(warnings).toEqual([expect.stringContaining('alpha 0.0001, not 0.5')]);
    } finally {
      await engine.close();
    }
  });
});

describe('a calibration that cannot be read', () => {
  it('keeps the model from being served, and is named', async () => {
    const dir = await calibratedReasoner(folder.path('broken'), 1);
    folder.write('broken/calibration.json', '{"format": 1}');
    const engine = await Engine.open(dir);
    try {
      const starting = EngineModel.open('m', engine);
      await expect(starting).rejects.toThrow(ModelError);
      await expect(starting).rejects.toThrow('broken/calibration.json');
    } finally {
      await engine.close();
    }
  });
});
