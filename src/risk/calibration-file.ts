import { rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { readOptionalJson } from '../files/json.js';
import { type CalibrationFile, parseCalibration, withoutOtherRules } from './calibration.js';

/** Its name beside the weights of a model. */
export const CALIBRATION_FILE = 'calibration.json';

/** Path of a model's calibration: of `model.gguf`, it is `model.calibration.json` beside it. */
export const calibrationFileOf = ({ dir, gguf }: Pick<Checkpoint, 'dir' | 'gguf'>): string =>
  gguf === null ? join(dir, CALIBRATION_FILE) : `${gguf.file.replace(/\.gguf$/i, '')}.${CALIBRATION_FILE}`;

/**
 * `null` where there is none.
 * @throws ModelError that names file and field
 */
export async function readCalibration(file: string): Promise<CalibrationFile | null> {
  const json = await readJsonOf(file);
  return json === undefined ? null : parseCalibration(json, file);
}

/**
 * Same as `readCalibration`, for a file that is written anew: calibrations of another rule for steps are left
 * out.
 */
export async function readKeptCalibration(file: string): Promise<CalibrationFile | null> {
  const json = await readJsonOf(file);
  return json === undefined ? null : parseCalibration(withoutOtherRules(json), file);
}

const readJsonOf = (file: string): Promise<unknown> => readOptionalJson(dirname(file), basename(file));

/** Writes all or nothing: a reader sees the old file or the new one, and an interruption leaves the old. */
export async function writeCalibration(file: string, calibration: CalibrationFile): Promise<void> {
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(unfinished, `${JSON.stringify(calibration)}\n`);
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}
