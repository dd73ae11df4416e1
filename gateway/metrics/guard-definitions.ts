import { ACTIONS } from '../../src/guard/guard.js';
import type { RollbackDoneEvent } from '../../src/stream/events.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import { type Definition, type HistogramDefinition, MODEL } from './definition.js';

export const ROLLBACK_OUTCOMES = [
  'replaced',
  'kept',
] as const satisfies readonly RollbackDoneEvent['outcome'][];
export const VERDICTS_FLAGGED = ['true', 'false', 'unknown'] as const;
/** Buckets of risks: most risks say little, and thresholds are near 1. */
const RISK_BUCKETS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1];

const BY_METHOD = { model: MODEL, method: METHODS } as const;
const BY_ACTION = { model: MODEL, action: ACTIONS } as const;
const BY_MODEL = { model: MODEL } as const;

export const TOKEN_SCORE = {
  name: 'flinch_token_score',
  type: 'histogram',
  help: 'Scores of tokens under the streaming schedule; higher means less certain. The unit depends on the method (docs/guard.md).',
  labels: BY_METHOD,
  buckets: [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
} as const satisfies HistogramDefinition;

export const TOKEN_RISK = {
  name: 'flinch_token_risk',
  type: 'histogram',
  help: 'Risks of tokens: the share of ordinary tokens that score lower, from 0 to 1. Excludes tokens that cannot be rated yet, and tokens skipped by the schedule (flinch_skipped_tokens_total), which rank below all others.',
  labels: BY_METHOD,
  buckets: RISK_BUCKETS,
} as const satisfies HistogramDefinition;

export const STEP_RISK = {
  name: 'flinch_step_risk',
  type: 'histogram',
  help: 'Risks of the steps in flinch_steps_total: the share of ordinary steps that score lower, from 0 to 1. Excludes steps that cannot be rated yet.',
  labels: BY_ACTION,
  buckets: RISK_BUCKETS,
  exemplars: true,
} as const satisfies HistogramDefinition;

export const SCORED_TOKENS = {
  name: 'flinch_scored_tokens_total',
  type: 'counter',
  help: 'Tokens of the model with a score of at least one method. Tokens that are retracted and rewritten count again, also with held delivery.',
  labels: BY_MODEL,
} as const satisfies Definition;

export const SKIPPED_TOKENS = {
  name: 'flinch_skipped_tokens_total',
  type: 'counter',
  help: 'Tokens that the schedule skipped for a method. A skipped token is not a score of zero.',
  labels: BY_METHOD,
} as const satisfies Definition;

export const LAG_SKIPPED_TOKENS = {
  name: 'flinch_lag_skipped_tokens_total',
  type: 'counter',
  help: 'Tokens that were not scored because scoring was slower than writing (guard.lag: skip). They are in no other metric of scores.',
  labels: BY_MODEL,
} as const satisfies Definition;

export const UNSCORED_TOKENS = {
  name: 'flinch_unscored_tokens_total',
  type: 'counter',
  help: 'Tokens for which a method cannot be computed, because their log-probability is unknown.',
  labels: BY_METHOD,
} as const satisfies Definition;

export const RIVALS = {
  name: 'flinch_rivals_total',
  type: 'counter',
  help: 'Tokens with a likely rival: the other token that gains most under the perturbation of Adv. Pert. had a probability of at least 0.1 before it. A share of flinch_token_score_count{method="adversarial"}.',
  labels: BY_MODEL,
} as const satisfies Definition;

export const STEPS = {
  name: 'flinch_steps_total',
  type: 'counter',
  help: "Judged steps, by the guard's configured action. Includes steps that were then replaced or stopped at; excludes rejected candidates.",
  labels: BY_ACTION,
} as const satisfies Definition;

export const FLAGGED_STEPS = {
  name: 'flinch_flagged_steps_total',
  type: 'counter',
  help: "Flagged steps among flinch_steps_total, by the guard's configured action. Includes replacements that are flagged again. The actions taken are in flinch_stops_total and flinch_rollbacks_total.",
  labels: BY_ACTION,
} as const satisfies Definition;

export const VERDICTS = {
  name: 'flinch_verdicts_total',
  type: 'counter',
  help: 'Verdicts on complete responses, by whether the response was flagged; unknown if it was not scored as a whole. Excludes responses without a guard.',
  labels: { model: MODEL, flagged: VERDICTS_FLAGGED },
} as const satisfies Definition;

export const STOPS = {
  name: 'flinch_stops_total',
  type: 'counter',
  help: 'Responses that the guard stopped at a flagged step.',
  labels: BY_MODEL,
} as const satisfies Definition;

export const CALIBRATION_DRIFT = {
  name: 'flinch_calibration_drift',
  type: 'gauge',
  help: 'How far the scores of answers have moved from those of the calibration: while they have not, at least c answers pass on average before this exceeds c. Of answers that are scored whole, with action annotate, by the method of the guard. Absent without a calibration.',
  labels: BY_METHOD,
  aggregator: 'max',
} as const satisfies Definition;

export const ROLLBACKS = {
  name: 'flinch_rollbacks_total',
  type: 'counter',
  help: 'Flagged steps for which other continuations were sampled, by whether one of them replaced the step (replaced) or not (kept).',
  labels: { model: MODEL, outcome: ROLLBACK_OUTCOMES },
} as const satisfies Definition;

export const RETRACTED_TOKENS = {
  name: 'flinch_retracted_tokens_total',
  type: 'counter',
  help: 'Tokens that were sent to the client and then retracted; none with held delivery.',
  labels: BY_MODEL,
} as const satisfies Definition;

export const LAG_TOKENS = {
  name: 'flinch_scoring_lag_tokens',
  type: 'histogram',
  help: 'Tokens sent to the client between a token and its scores. Only for immediate delivery; with held delivery, tokens wait for their scores. Excludes flinch_lag_skipped_tokens_total.',
  labels: BY_MODEL,
  buckets: [0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 512],
} as const satisfies HistogramDefinition;

export const LAG_SECONDS = {
  name: 'flinch_scoring_lag_seconds',
  type: 'histogram',
  help: 'Seconds from sending a token to the client to sending its scores. Only for immediate delivery.',
  labels: BY_MODEL,
  buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
} as const satisfies HistogramDefinition;

export const STEP_HOLD = {
  name: 'flinch_step_hold_seconds',
  type: 'histogram',
  help: 'Seconds that a step was held back, from the writing of its first token to its release.',
  labels: BY_MODEL,
  buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60],
} as const satisfies HistogramDefinition;
