import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCalibration } from '#src/index.js';

const FOLDER = 'models/calibrations';
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

describe('calibrations that come with flinch', () => {
  it.each(files)('%s is read, named by its model, and in the table', async (name) => {
    const calibration = await readCalibration(`${FOLDER}/${name}`);
    expect(`${calibration!.model}.json`).toBe(name);
    expect(readFileSync(`${FOLDER}/README.md`, 'utf8')).toContain(`](${name})`);
  });
});
