import { DEFAULT_GUARD, retracts } from '../../../src/guard/guard.js';
import type { GuardFields } from '../../../src/guard/guard-fields.js';
import { DEFAULT_METHODS, type Method } from '../../../src/uncertainty/method-names.js';
import { DEFAULT_ALPHA, DEFAULT_RANDOM } from '../../../src/uncertainty/settings.js';
import type { GuardInForce } from '../../models/served-model.js';
import { completeGuard } from '../../requests/guard-limits.js';
import { invalid, isText } from '../servers/upstream-request.js';
import type { UpstreamRequest } from '../upstream.js';

const UNTOLD = 'the upstream returns no log-probabilities, and the model has no scorer';

/**
 * Settings of the guard for a model without a scorer.
 * @param available methods that the log-probabilities of its servers allow
 * @param why reason if none is available
 * @throws ApiError 400 that names the field, for methods that cannot be computed
 */
export function logprobGuard(fields: GuardFields, available: readonly Method[], why = UNTOLD): GuardInForce {
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

const NO_ROLLBACKS =
  'steps are flagged and not written again: a response with tools, a response format or several choices is not continued, nor one of /v1/responses';

/** Says so where steps cannot be written again. */
export function withoutRollbacks(guard: GuardInForce, asked: UpstreamRequest): GuardInForce {
  if (!guard.enabled || !retracts(guard.action) || isText(asked)) return guard;
  return { ...guard, warnings: [...(guard.warnings ?? []), NO_ROLLBACKS] };
}
