import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { fingerprint } from '../checkpoint/fingerprint.js';
import type { Method } from '../uncertainty/method-names.js';
import type { AbsoluteScoring } from '../uncertainty/settings.js';
import { CalibratedRisk } from './calibrated-risk.js';
import type { Calibration, CalibrationFile } from './calibration.js';
import { CALIBRATION_FILE } from './calibration-file.js';
import {
  type CalibrationSettings,
  calibrationSettings,
  differences,
  sameSettings,
} from './calibration-settings.js';
import type { RiskModel } from './risk.js';
import { RunningRisk } from './running-risk.js';

export interface RatedBy {
  readonly risks: RiskModel;
  /** The same with another running estimate, such as one for each of several users. */
  readonly with: (running: RiskModel) => RiskModel;
  /** User-visible: the methods that use a running estimate, and why. */
  readonly warnings: readonly string[];
}

const INSTEAD = 'use a running estimate';

/**
 * Rates the scores of each method: by a calibration of this model under these settings, else by a running
 * estimate.
 *
 * @param file what `readCalibration` gave
 * @param methods the methods to rate
 * @throws ModelError where the model's files cannot be read any more
 */
export async function riskModel(
  checkpoint: Pick<Checkpoint, 'dir' | 'tensors'>,
  file: CalibrationFile | null,
  scoring: AbsoluteScoring,
  methods: readonly Method[],
): Promise<RatedBy> {
  const only = (warning: string): RatedBy => ratedBy((running) => running, [`${warning}: flags ${INSTEAD}`]);
  if (file === null) return only(`there is no ${CALIBRATION_FILE} (create one with flinch calibrate)`);
  if (file.model !== (await fingerprint(checkpoint)))
    return only(`${CALIBRATION_FILE} was made for another model`);

  const used = calibrationSettings(scoring, methods);
  const holding = new Map<Method, Calibration>();
  const warnings: string[] = [];
  for (const method of methods) {
    const nearest = candidates(file, method, used)[0];
    const problem = problemOf(method, nearest, used);
    if (nearest && problem === null) holding.set(method, nearest);
    else warnings.push(`${CALIBRATION_FILE} ${problem}: flags by ${method} ${INSTEAD}`);
  }
  const calibrated = new CalibratedRisk(holding);
  return ratedBy((running) => firstOf(calibrated, running), warnings);
}

const ratedBy = (by: RatedBy['with'], warnings: readonly string[]): RatedBy => ({
  risks: by(new RunningRisk()),
  with: by,
  warnings,
});

/**
 * Calibrations with the method, the nearest settings first; of equal ones those with all of the settings
 * first, then the larger.
 */
function candidates(file: CalibrationFile, method: Method, used: CalibrationSettings): Calibration[] {
  const differing = ({ settings }: Calibration): number => differences(method, settings, used).length;
  const others = ({ settings }: Calibration): number => (sameSettings(settings, used) ? 0 : 1);
  return file.calibrations
    .filter(({ methods }) => methods[method])
    .sort(
      (a, b) =>
        differing(a) - differing(b) || others(a) - others(b) || b.collected.tokens - a.collected.tokens,
    );
}

function problemOf(
  method: Method,
  nearest: Calibration | undefined,
  used: CalibrationSettings,
): string | null {
  if (!nearest) return `does not contain ${method}`;
  const differing = differences(method, nearest.settings, used);
  return differing.length === 0 ? null : `was made for ${differing.join(', ')}`;
}

function firstOf(calibrated: CalibratedRisk, running: RiskModel): RiskModel {
  const of = (method: Method): RiskModel => (calibrated.calibrated(method) ? calibrated : running);
  return {
    calibrated: (method, kind) => calibrated.calibrated(method, kind),
    ofToken: (method, score, index) => of(method).ofToken(method, score, index),
    ofStep: (method, score, per, kind) => of(method).ofStep(method, score, per, kind),
    ofAnswer: (method, score, among, kind) => {
      const rated = calibrated.calibrated(method, 'answer') ? calibrated : running;
      return rated.ofAnswer(method, score, among, kind);
    },
    statistic: (method) => calibrated.statistic(method),
    seenAnswers: (method) => running.seenAnswers?.(method) ?? 0,
  };
}
