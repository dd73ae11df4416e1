import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { fingerprint } from '../checkpoint/fingerprint.js';
import { ModelError } from '../files/file-errors.js';
import { readOptionalJson } from '../files/json.js';
import { calibrationsPath } from '../package-root.js';
import type { Method } from '../uncertainty/method-names.js';
import { type CalibrationFile, parseCalibration, withoutOtherRules } from './calibration.js';

/** Its name beside the weights of a model. */
export const CALIBRATION_FILE = 'calibration.json';

type CalibratedModel = Pick<Checkpoint, 'dir' | 'gguf' | 'tensors' | 'calibrationFile'>;

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

/** What the rates of a model are of: the calibration beside it, else the one that comes with flinch for it. */
export interface FoundCalibration {
  readonly calibration: CalibrationFile;
  readonly shipped: boolean;
}

/**
 * The file that was given for a model wins, else the one beside it, even if it is of another one: somebody put it there.
 * @returns `null` where there is none
 * @throws ModelError that names file and field; for a model's file that cannot be read
 */
export async function findCalibration(model: CalibratedModel): Promise<FoundCalibration | null> {
  const { calibrationFile } = model;
  if (calibrationFile !== undefined) {
    const calibration = await readCalibration(calibrationFile);
    if (calibration === null) throw new ModelError(calibrationFile, '', 'no such file');
    return { calibration, shipped: false };
  }
  const own = await readCalibration(calibrationFileOf(model));
  if (own) return { calibration: own, shipped: false };
  const shipped = await readShipped(await fingerprint(model));
  return shipped && { calibration: shipped, shipped: true };
}

const readShipped = (fingerprint: string): Promise<CalibrationFile | null> =>
  readCalibration(join(calibrationsPath, `${fingerprint}.json`));

/** Differs when the file that {@link findCalibration} reads was written anew; `null` while there is none. */
export async function calibrationVersion(model: CalibratedModel): Promise<string | null> {
  const file = model.calibrationFile ?? calibrationFileOf(model);
  const found = await stat(file, { bigint: true }).catch(() => null);
  return found && `${found.ino} ${found.mtimeNs} ${found.size}`;
}

/** The calibration of {@link findCalibration} alone. */
export const calibrationOf = async (model: CalibratedModel): Promise<CalibrationFile | null> =>
  (await findCalibration(model))?.calibration ?? null;

/** The method that a calibration of this model names to judge by, if any. */
export const judgeOf = async (
  model: CalibratedModel,
  file: CalibrationFile | null,
): Promise<Method | undefined> =>
  file?.method !== undefined && file.model === (await fingerprint(model)) ? file.method : undefined;

/**
 * Same as `readCalibration`, for a file that is written anew: calibrations of another rule for steps are left
 * out.
 */
export async function readKeptCalibration(file: string): Promise<CalibrationFile | null> {
  const json = await readJsonOf(file);
  return json === undefined ? null : parseCalibration(withoutOtherRules(json), file);
}

/**
 * The method that a calibration in this file keeps: of the one that it replaces there, else of the model's own, else of the
 * one that comes with flinch; `undefined` where the first of these names none.
 * @throws ModelError as `readCalibration`
 */
export async function keptJudge(model: CalibratedModel, file: string): Promise<Method | undefined> {
  const id = await fingerprint(model);
  for (const each of [file, calibrationFileOf(model)]) {
    const kept = await readKeptCalibration(each);
    if (kept?.model === id) return kept.method;
  }
  return (await readShipped(id))?.method;
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
