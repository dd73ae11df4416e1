import { retracts, type Guard as StreamGuard } from '../../src/stream/guard.js';
import { DEFAULT_RANDOM, DEFAULT_TOKUR, type Scoring } from '../../src/uncertainty/settings.js';
import type { Guard } from './request.js';

/** The library's guard from the wire's. What a client could not take back is held until it is settled. */
export function guardOf(fields: Guard, canRetract: boolean): StreamGuard {
  const { method, per, statistic, rate, action, candidates, choose, reflection } = fields;
  const temperature = fields.candidate_temperature;
  return {
    method,
    per,
    statistic,
    rate,
    delivery: retracts(action) && !canRetract ? 'held' : fields.delivery,
    action,
    rollbackTo: fields.rollback_to,
    candidates,
    choose,
    ...(temperature !== undefined && { temperature }),
    reflection,
    maxRollbacks: fields.max_rollbacks,
  };
}

/** What is computed, from the wire's guard. */
export function scoringOf({
  methods,
  schedule,
  block,
  window,
  epsilon,
  alpha,
  derivative,
  sigma,
  samples,
  ...guard
}: Guard): Scoring {
  return {
    methods,
    alpha,
    schedule:
      schedule === 'lazy' ? { kind: schedule, block, window, epsilon } : { kind: schedule, block, window },
    form: derivative ? 'derivative' : 'perturb',
    random: { sigma, samples, seed: DEFAULT_RANDOM.seed },
    tokur: {
      sigma: guard.tokur_sigma,
      samples: guard.tokur_samples,
      law: guard.tokur_law,
      seed: DEFAULT_TOKUR.seed,
    },
  };
}
