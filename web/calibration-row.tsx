import type { Answer } from 'flinch-client';
import { type ReactNode, useRef } from 'react';
import type { Model } from './server/page-models.js';

export interface CalibrationRowProps {
  readonly model: Model | null;
  /** Its last answer; `null` if there is none. */
  readonly answer: Answer | null;
  readonly onCalibrate: () => void;
}

/** What a model without a calibration lacks, and how far the one is that is being made. */
export function CalibrationRow({ model, answer, onCalibrate }: CalibrationRowProps): ReactNode {
  const calibration = model?.calibration ?? null;
  // The last answer of a model that has been calibrated meanwhile says nothing of it any more.
  const offered = useRef(new Set<string>());
  if (model && calibration) offered.current.add(model.id);
  const isEstimated = answer?.guard?.calibrated === false && !offered.current.has(model?.id ?? '');
  if (!calibration && !isEstimated) return null;
  const { running = false, collected = 0, planned = 0 } = calibration ?? {};
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
              ? `Not calibrated: ${estimateWords(answer)} Colours show scores, not ranks.`
              : `Calibration unfinished: ${collected} of ${planned} answers.`}
          </span>
          {calibration && (
            <button type="button" className="quiet" onClick={onCalibrate}>
              {collected === 0 ? 'Calibrate' : 'Go on'}
            </button>
          )}
        </>
      )}
    </section>
  );
}

/** When answers are ranked. A judged answer is one of those with which the next is compared. */
function estimateWords(answer: Answer | null): string {
  const { answers = 0, needed = 50 } = answer?.guard?.estimate ?? {};
  const known = answers + (answer?.verdict ? 1 : 0);
  if (known >= needed) return 'answers are ranked among your earlier ones.';
  return `answers are ranked after ${needed} of them; ${known} so far.`;
}
