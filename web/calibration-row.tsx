import type { ReactNode } from 'react';
import type { Model } from './server/page-models.js';

export interface CalibrationRowProps {
  readonly model: Model | null;
  readonly onCalibrate: () => void;
}

/** What a model without a calibration lacks, and how far the one is that is being made. */
export function CalibrationRow({ model, onCalibrate }: CalibrationRowProps): ReactNode {
  const calibration = model?.calibration ?? null;
  if (!calibration) return null;
  const { running, collected, planned } = calibration;
  return (
    <section className="calibration" aria-label="Calibration">
      {running ? (
        <>
          <label htmlFor="calibrating">
            Calibrating while idle: {collected} of {planned}
          </label>
          <progress id="calibrating" max={planned} value={collected} />
        </>
      ) : (
        <>
          <span>
            {collected === 0
              ? 'Not calibrated: flags are estimates.'
              : `Calibration unfinished: ${collected} of ${planned} answers.`}
          </span>
          <button type="button" className="quiet" onClick={onCalibrate}>
            {collected === 0 ? 'Calibrate' : 'Go on'}
          </button>
        </>
      )}
    </section>
  );
}
