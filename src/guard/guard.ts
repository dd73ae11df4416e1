import { isAlarm, type RiskModel } from '../risk/risk.js';
import type { Method } from '../uncertainty/method-names.js';
import { SettingsError } from '../uncertainty/settings.js';
import { type Choose, majority, type Policy } from './policy.js';

export const DELIVERIES = ['immediate', 'held'] as const;
export const ACTIONS = ['annotate', 'stop', 'rollback', 'escalate', 'vote'] as const;
export type GuardAction = (typeof ACTIONS)[number];
export const LAGS = ['wait', 'skip'] as const;
export const RATED = ['step', 'answer'] as const;

/** Conditions under which a step counts as doubtful, and the action then. */
export interface Guard {
  /** The method that steps are judged by. */
  readonly method: Method;
  /** A step is flagged by its own risk, or by its rank among the highest steps of answers. */
  readonly per: (typeof RATED)[number];
  /** Target share of false alarms, of steps or answers: those with a risk of at least 1 − rate are flagged. */
  readonly rate: number;
  /** Tokens pass at once, or a step at a time once its verdict is known and nothing of it can be retracted. */
  readonly delivery: (typeof DELIVERIES)[number];
  /** If scoring is behind, the text waits, or blocks are passed over: not where steps wait for their verdict. */
  readonly lag: (typeof LAGS)[number];
  /** `escalate` and `vote` are the gateway's: they replace whole answers. */
  readonly action: GuardAction;
  /** `rollback`: continuations that are drawn beside the flagged one. */
  readonly candidates: number;
  /** `rollback`: after so many the response goes on, flagged or not. */
  readonly maxRollbacks: number;
}

export const DEFAULT_GUARD: Guard = {
  method: 'entropy',
  per: 'step',
  rate: 0.02,
  delivery: 'immediate',
  lag: 'wait',
  action: 'annotate',
  candidates: 4,
  maxRollbacks: 8,
};

/** Whether an action is taken on a flagged answer, of which every step is only marked. */
export function replacesAnswers(action: GuardAction): action is 'escalate' | 'vote' {
  return action === 'escalate' || action === 'vote';
}

/** Whether an action voids tokens that may have been shown: a client that cannot remove them needs `held`. */
export const retracts = (action: GuardAction): boolean => action === 'rollback';

/**
 * Warning for a rate at which no score whatever would be flagged, because fewer ordinary scores were collected
 * than it takes. `null` for a rate that works, and while the scores to rank by are still coming in.
 */
export function neverFires({ method, per, rate }: Guard, risks: RiskModel): string | null {
  // A running estimate would learn from being asked, and a rate of answers is refused by checkPromise.
  if (!risks.calibrated(method) || per === 'answer') return null;
  const largest = risks.ofStep(method, Number.POSITIVE_INFINITY);
  if (largest === null || isAlarm(largest, rate)) return null;
  const least = Number((1 - largest).toPrecision(3));
  return `no step is ever flagged by ${method} at a rate below ${least}: too few ordinary scores were collected`;
}

/**
 * A rate of answers is a promise: it needs a calibration with as many ordinary answers as the rate takes. A running
 * estimate would learn at the end of an answer which of its steps was the highest.
 * @throws SettingsError for `per` or `rate`
 */
export function checkPromise({ method, per, rate }: Guard, risks: RiskModel): void {
  if (per !== 'answer') return;
  const largest = risks.ofStep(method, Number.POSITIVE_INFINITY, per);
  if (largest === null) {
    const needed = `needs a calibration of ${method} with whole answers under these settings`;
    throw new SettingsError('per', `answer ${needed}: create one with flinch calibrate`);
  }
  if (isAlarm(largest, rate)) return;
  const needed = `${rate} of answers needs a calibration with ${Math.ceil(1 / rate) - 1} whole answers`;
  throw new SettingsError('rate', `${needed}, and there are ${Math.round(largest / (1 - largest))}`);
}

/**
 * Applies the guard's action to each flagged step, as long as rollbacks are left.
 * @param choose choice among continuations; by default what most of them say
 */
export function policyOf({ action, candidates, maxRollbacks }: Guard, choose: Choose = majority()): Policy {
  return (_, { interventions }) => {
    if (action === 'stop') return { action };
    if (action !== 'rollback' || interventions >= maxRollbacks) return { action: 'annotate' };
    return { action, candidates, choose };
  };
}
