import { cpSync, existsSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { REASONER } from '../support/golden.js';
import { chromiumFor, findings, usePage } from '../support/page.js';
import { QUESTION } from '../support/requests.js';
import { Serving } from '../support/serving.js';

const executablePath = chromiumFor('page-calibration.integration.test.ts');
const folder = useFolder();
const model = folder.path('reasoner');

describe.skipIf(!executablePath)('the page of a model without a calibration', () => {
  let serving: Serving;
  beforeAll(async () => {
    cpSync(REASONER, model, { recursive: true });
    rmSync(`${model}/calibration.json`);
    serving = await Serving.start(['--model', model, '--methods', 'nll']);
  });
  afterAll(() => serving?.kill());
  const shared = usePage(executablePath, () => serving.url);

  it('calibrates it while nobody asks', async () => {
    const { page } = shared;
    const row = page.locator('.calibration');
    await row.getByText('Not calibrated').waitFor();
    expect(await findings(page)).toEqual([]);
    await shared.picture('not-calibrated');
    expect(await row.textContent()).toContain('answers are ranked after 50 of them; 0 so far.');
    const estimated = await shared.answered(QUESTION);
    expect(await estimated.locator('.details').textContent()).toContain('running estimate');
    await row.getByText('; 1 so far. Colours show scores, not ranks.').waitFor();

    await row.getByRole('button', { name: 'Calibrate' }).click();
    await expect.poll(() => row.locator('progress').getAttribute('max')).toBe('411');
    await expect.poll(() => row.locator('progress').getAttribute('value')).not.toBe('0');
    expect(await row.textContent()).toMatch(/Calibrating while idle: \d+ of 411/);
    expect(await findings(page)).toEqual([]);
    await shared.picture('calibrating');
    await shared.answered(QUESTION);

    await row.waitFor({ state: 'detached' });
    expect(existsSync(`${model}/calibration.json`)).toBe(true);
    await expect
      .poll(async () => (await shared.answered(QUESTION)).locator('.details').textContent())
      .not.toContain('running estimate');
  });
});
