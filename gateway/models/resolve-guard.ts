import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { checkPromise, neverFires, type Guard as StreamGuard } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import type { RiskModel } from '../../src/risk/risk.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { absoluteScoring, DEFAULT_RANDOM, type Scoring } from '../../src/uncertainty/settings.js';
import { type AskedGuard, completeGuard, guardSchema } from '../requests/guard-limits.js';
import type { RiskModels } from './risk-models.js';
import type { GuardInForce } from './served-model.js';

/** How a response is scored and judged by a checkpoint. */
export interface Judging {
  readonly scoring: Scoring;
  readonly guard: StreamGuard;
  readonly risks: RiskModel;
}

export interface JudgedBy {
  /** Checkpoint of the model that scores. */
  readonly checkpoint: Checkpoint;
  readonly risks: RiskModels;
  /** Client of the request. */
  readonly client: string | undefined;
  /** Whether running estimates leave the answer out. */
  readonly further?: boolean | undefined;
  readonly canRetract: boolean;
  /** Default for a request without `lag`, if no step waits for its verdict. */
  readonly lag: StreamGuard['lag'];
}

/** The settings, with more for people to know. */
export const withWarnings = (guard: GuardInForce, more: readonly string[]): GuardInForce =>
  more.length === 0 ? guard : { ...guard, warnings: [...(guard.warnings ?? []), ...more] };

/**
 * The settings in force for a request.
 * @returns `judging`: `null` where the guard is not enabled
 * @throws ApiError 400; SettingsError for settings that do not fit together, or not to the model
 */
export async function guardInForce(
  asked: AskedGuard,
  { checkpoint, risks: models, client = '', further, canRetract, lag }: JudgedBy,
): Promise<{ readonly settings: GuardInForce; readonly judging: Judging | null }> {
  await models.refresh();
  const fields = completeGuard(guardSchema.parse(asked), METHODS, models.judge);
  const scoring = await absoluteScoring(scoringOf(fields.methods, fields.scoring), checkpoint.embeddingRms);
  const { alpha, random = DEFAULT_RANDOM } = scoring;
  const settings = { ...fields, scoring: { ...fields.scoring, alpha, sigma: random.sigma } };
  if (!settings.enabled) return { settings, judging: null };
  const guard = guardOf(settings, canRetract, lag);
  checkGuard(guard, scoring);
  const { risks, warnings: uncalibrated } = await models.of(scoring, client, further);
  checkPromise(guard, risks);
  const useless = neverFires(guard, risks);
  if (useless !== null) models.warn(useless);
  const warnings = useless === null ? uncalibrated : [...uncalibrated, useless];
  return {
    settings: {
      ...settings,
      delivery: guard.delivery,
      lag: guard.lag,
      calibrated: risks.calibrated(guard.method),
      ...(warnings.length > 0 && { warnings }),
    },
    judging: { scoring, guard, risks },
  };
}
