import type { Checkpoint } from '../src/checkpoint/checkpoint.js';
import { fingerprint } from '../src/checkpoint/fingerprint.js';
import { CALIBRATION_FILE, calibrationOf } from '../src/risk/calibration-file.js';
import { shellWord } from './shell-word.js';

/**
 * Notice for a model without a calibration of its own: what that means, and the command that makes one; else
 * `null`.
 * @param advice before the command
 * @throws ModelError for a calibration that cannot be read
 */
export async function uncalibrated(checkpoint: Checkpoint, advice = 'Calibrate it'): Promise<string | null> {
  const file = await calibrationOf(checkpoint);
  if (file !== null && file.model === (await fingerprint(checkpoint))) return null;
  const source = checkpoint.gguf?.file ?? checkpoint.dir;
  const model = shellWord(source);
  const missing = file === null ? `no ${CALIBRATION_FILE}` : `${CALIBRATION_FILE} is of another model`;
  return `not calibrated (${missing}): risks are ranks among the scores so far. ${advice}: flinch calibrate --model ${model}`;
}
