import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { EngineModel } from '#gateway/index.js';
import { RiskModels } from '#gateway/models/risk-models.js';
import { chatSchema } from '#gateway/requests/generation-request.js';
import { type Checkpoint, DEFAULT_SCORING, Engine, ModelError, openCheckpoint } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { chatBody } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';

const folder = useFolder();
let checkpoint: Checkpoint;
beforeAll(async () => {
  checkpoint = await openCheckpoint(await calibratedReasoner(folder.path('reasoner'), 1));
});

const withAlpha = (alpha: number) => ({ ...DEFAULT_SCORING, alpha });

describe('RiskModels', () => {
  it('gives generations under the same settings the same, and logs once what does not hold', async () => {
    const lines: string[] = [];
    const models = await RiskModels.open(checkpoint, pino({}, { write: (line) => lines.push(line) }));
    const first = await models.of(withAlpha(2e-4));
    expect(await models.of(withAlpha(2e-4))).toBe(first);
    expect((await models.of(withAlpha(3e-4))).risks).not.toBe(first.risks);
    expect(first.warnings).toHaveLength(1);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('alpha 0.0001, not 0.0002');
    expect((await models.of(DEFAULT_SCORING)).warnings).toEqual([]);
    expect(lines).toHaveLength(2);
  });

  it('forgets the settings that have not been used for longest', async () => {
    const models = await RiskModels.open(checkpoint, pino({ level: 'silent' }));
    const kept = await models.of(withAlpha(0.5));
    const lost = await models.of(withAlpha(0.6));
    for (let i = 1; i <= 40; i++) {
      await models.of(withAlpha(i / 1000));
      expect(await models.of(withAlpha(0.5))).toBe(kept);
    }
    expect(await models.of(withAlpha(0.6))).not.toBe(lost);
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
        (await models.prepare(chatSchema.parse(chatBody({ guard })), { canRetract: true })).guard;
      const tooLow = [
        expect.stringContaining('no step is ever flagged by adversarial at a rate below 0.0099'),
      ];
      expect(await guardWith({ rate: 0.005 })).toMatchObject({ calibrated: true, warnings: tooLow });
      expect(await guardWith({ rate: 0.006 })).toMatchObject({ warnings: tooLow });
      expect(lines).toEqual(tooLow);
      expect(await guardWith({ rate: 0.02 })).not.toHaveProperty('warnings');
      expect(await guardWith({ rate: 0.005, per: 'token' })).not.toHaveProperty('warnings');
      const { warnings } = await guardWith({ rate: 0.005, alpha: 0.5 });
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
