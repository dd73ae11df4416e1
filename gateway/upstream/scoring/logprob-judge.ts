import { DEFAULT_GUARD } from '../../../src/guard/guard.js';
import type { GuardFields } from '../../../src/guard/guard-fields.js';
import type { RunningRisk } from '../../../src/risk/running-risk.js';
import { DEFAULT_METHODS, type Method } from '../../../src/uncertainty/method-names.js';
import { scoringOf } from '../../../src/uncertainty/scoring-fields.js';
import {
  type AbsoluteScoring,
  checkScoring,
  DEFAULT_ALPHA,
  DEFAULT_RANDOM,
} from '../../../src/uncertainty/settings.js';
import type { PerClient } from '../../answers/per-client.js';
import type { GuardInForce, Judge } from '../../answers/served-model.js';
import { completeGuard } from '../../requests/guard-limits.js';
import { invalid } from '../servers/upstream-request.js';

const UNTOLD = 'the upstream returns no log-probabilities, and the model has no scorer';

/**
 * Judges the answers of a model without a scorer.
 * @param available methods that the log-probabilities of its servers allow
 * @param why reason if none is available
 */
export function logprobJudge(
  available: readonly Method[],
  estimates: PerClient<RunningRisk>,
  why = UNTOLD,
): Judge {
  return {
    settle: async (fields) => settled(fields, available, why),
    // Scores by log-probabilities depend on no settings.
    rate: async (_, { client, further = false }) => ({
      risks: estimates.of(client, '').ofOneAnswer(!further),
      warnings: [],
    }),
  };
}

/** @throws ApiError 400 that names the field, for methods that cannot be computed */
function settled(
  fields: GuardFields,
  available: readonly Method[],
  why: string,
): { readonly settings: GuardInForce; readonly scoring: AbsoluteScoring } {
  const settings = settingsOf(fields, available, why);
  const { alpha } = settings.scoring;
  const { random: _, ...scoring } = scoringOf(settings.methods, settings.scoring);
  if (settings.enabled) checkScoring(scoring);
  return { settings, scoring: { ...scoring, alpha } };
}

function settingsOf(fields: GuardFields, available: readonly Method[], why: string): GuardInForce {
  const { alpha, sigma } = fields.scoring;
  // These sizes have no effect: perturbations need a scorer.
  const scoring = {
    ...fields.scoring,
    alpha: typeof alpha === 'number' ? alpha : DEFAULT_ALPHA,
    sigma: typeof sigma === 'number' ? sigma : DEFAULT_RANDOM.sigma,
  };
  if (!fields.enabled)
    return { ...fields, scoring, methods: [], method: fields.method ?? DEFAULT_GUARD.method };
  if (available.length === 0) {
    if (fields.methods ?? fields.method) throw invalid('guard.methods', `nothing can be computed: ${why}`);
    if (fields.action !== 'annotate') throw invalid('guard.action', `no step can be flagged: ${why}`);
    const warnings = [`nothing is scored and no step is judged: ${why}`];
    return { ...fields, scoring, enabled: false, methods: [], method: DEFAULT_GUARD.method, warnings };
  }
  if (fields.per === 'answer')
    throw invalid('guard.per', 'answer needs a calibration, which an upstream without a scorer cannot have');
  const guard = completeGuard(fields, available);
  const left = DEFAULT_METHODS.filter((method) => !available.includes(method));
  const warnings = [
    ...(fields.methods
      ? []
      : [`${left.join(', ')}: not computed; this requires a scorer, which this model does not have`]),
    'an upstream without a scorer cannot be calibrated; flags use a running estimate',
  ];
  return { ...guard, scoring, warnings };
}
