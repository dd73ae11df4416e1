import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { uncalibrated } from '#cli/uncalibrated.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { reasonerPath } from '#src/package-root.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';

const folder = useFolder();
const at = async (name: string): Promise<string | null> => uncalibrated(await openCheckpoint(name));

describe('a model without a calibration of its own', () => {
  it('is told from one that has it', async () => {
    expect(await at(reasonerPath)).toBeNull();
    expect(await at(checkpointFolder('tiny-llama'))).toMatch(/^not calibrated \(no calibration\.json\): .*/);
  });

  it('may have that of another; the command can be pasted into a shell', async () => {
    const copy = folder.path("a tester's model");
    cpSync(checkpointFolder('tiny-llama'), copy, { recursive: true });
    cpSync(join(reasonerPath, 'calibration.json'), join(copy, 'calibration.json'));
    const quoted = `'${copy.replace("'", "'\\''")}'`;
    expect(await at(copy)).toBe(
      `not calibrated (calibration.json is of another model): risks are ranks among the scores so far. Calibrate it: flinch calibrate --model ${quoted}`,
    );
  });
});
