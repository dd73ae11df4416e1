import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { type AbsoluteScoring, DEFAULT_SCORING, openCheckpoint } from '#src/index.js';
import type { Distribution } from '#src/numerics/distribution.js';
import { withCalibration } from '#src/risk/calibration.js';
import { CALIBRATION_FILE, writeCalibration } from '#src/risk/calibration-file.js';
import { aCalibration } from './calibration.js';
import { REASONER } from './golden.js';

/** The embedded model as {@link calibratedModel}. */
export const calibratedReasoner = (
  folder: string,
  largest: number,
  scoring: AbsoluteScoring = DEFAULT_SCORING,
): Promise<string> => calibratedModel(REASONER, folder, largest, scoring);

/** How much larger the embedded model's scores by `nll` are than those by `adversarial`, of steps. */
const NLL_SCALE = 16_000;

const divided = (sum: Distribution, by: number): { sum: Distribution } => ({
  sum: { ...sum, quantiles: sum.quantiles.map((score) => score / by) },
});

/**
 * A model with another calibration: ordinary scores go evenly from 0 to `largest` (of `nll`, which has another scale, to
 * 1600 times that), those of steps and answers as well, so that a small one makes every step doubtful.
 * `nll` judges, as for the embedded model.
 * @returns the folder
 */
export async function calibratedModel(
  model: string,
  folder: string,
  largest: number,
  scoring: AbsoluteScoring = DEFAULT_SCORING,
): Promise<string> {
  mkdirSync(folder);
  for (const name of readdirSync(model)) {
    if (name !== CALIBRATION_FILE) symlinkSync(join(model, name), join(folder, name));
  }
  const id = await fingerprint(await openCheckpoint(folder));
  const of = (scale: number) => aCalibration(scoring, scoring.methods, 1000, scale * largest);
  const { methods, ...rest } = of(1);
  const { nll = methods.nll } = of(NLL_SCALE).methods;
  const even = Object.entries({ ...methods, ...(nll && { nll }) }).map(
    ([method, { steps, answers, ...scores }]) => [
      method,
      {
        ...scores,
        // Of ten tokens each.
        steps: divided(steps.sum, 10),
        ...(answers?.sum && { answers: divided(answers.sum, Math.sqrt(10)) }),
      },
    ],
  );
  const calibration = { ...rest, methods: Object.fromEntries(even) };
  const judge = scoring.methods.includes('nll') ? 'nll' : undefined;
  await writeCalibration(join(folder, CALIBRATION_FILE), withCalibration(null, id, calibration, judge));
  return folder;
}
