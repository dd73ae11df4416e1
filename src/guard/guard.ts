import { POSITIONS } from '../risk/positions.js';
import { isAlarm, type RiskModel, STEP_STATISTIC } from '../risk/risk.js';
import type { Method } from '../uncertainty/method-names.js';
import { SettingsError } from '../uncertainty/settings.js';
import { majority } from './choose.js';
import type { Choose, Policy, Rollback, SpikePolicy } from './policy.js';

export const DELIVERIES = ['immediate', 'held'] as const;
export const ACTIONS = ['annotate', 'stop', 'rollback', 'reflect', 'escalate', 'vote'] as const;
export type GuardAction = (typeof ACTIONS)[number];
export const LAGS = ['wait', 'skip'] as const;
export const DOUBTS = ['step', 'spike'] as const;
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
  /** What the action is taken on: a flagged step, when it is complete, or a spike, at once. */
  readonly actOn: (typeof DOUBTS)[number];
  /** `rollback`: continuations that are drawn beside the flagged one. */
  readonly candidates: number;
  /** `reflect`: text that is put after the step. */
  readonly reflection: string;
  /** `rollback`, `reflect`: after so many the response goes on, flagged or not. */
  readonly maxRollbacks: number;
}

export const DEFAULT_GUARD: Guard = {
  method: 'entropy',
  per: 'step',
  rate: 0.02,
  delivery: 'immediate',
  lag: 'wait',
  action: 'annotate',
  actOn: 'step',
  candidates: 4,
  reflection: 'Wait, let me check that step.\n',
  maxRollbacks: 8,
};

/** Whether an action is taken on a flagged answer, of which every step is only marked. */
export function replacesAnswers(action: GuardAction): action is 'escalate' | 'vote' {
  return action === 'escalate' || action === 'vote';
}

/** Whether an action voids tokens that may have been shown: a client that cannot remove them needs `held`. */
export function retracts(action: GuardAction): boolean {
  return action === 'rollback' || action === 'reflect';
}

/**
 * Warning for a rate at which no score whatever would be flagged, because fewer ordinary scores were collected
 * than it takes. `null` for a rate that works, and while the scores to rank by are still coming in.
 */
export function neverFires({ method, per, rate, action, actOn }: Guard, risks: RiskModel): string | null {
  // A running estimate would learn from being asked, and a rate of answers is refused by checkPromise.
  const spikes = actOn === 'spike' && action !== 'annotate';
  if (!risks.calibrated(method) || (per === 'answer' && !spikes)) return null;
  const infinite = Number.POSITIVE_INFINITY;
  const largest =
    per === 'step' && !spikes
      ? [risks.ofStep(method, STEP_STATISTIC, infinite)]
      : POSITIONS.map((index) => risks.ofToken(method, infinite, index));
  const known = largest.filter((risk) => risk !== null);
  if (known.length === 0 || known.some((risk) => isAlarm(risk, rate))) return null;
  const least = Number((1 - Math.max(...known)).toPrecision(3));
  return `no ${spikes ? 'token' : per} is ever flagged by ${method} at a rate below ${least}: too few ordinary scores were collected`;
}

/**
 * A rate of answers is a promise: it needs a calibration with as many ordinary answers as the rate takes. A running
 * estimate would learn at the end of an answer which of its steps was the highest.
 * @throws SettingsError for `per` or `rate`
 */
export function checkPromise({ method, per, rate }: Guard, risks: RiskModel): void {
  if (per !== 'answer') return;
  const largest = risks.ofStep(method, STEP_STATISTIC, Number.POSITIVE_INFINITY, per);
  if (largest === null) {
    const needed = `needs a calibration of ${method} with whole answers under these settings`;
    throw new SettingsError('per', `answer ${needed}: create one with flinch calibrate`);
  }
  if (isAlarm(largest, rate)) return;
  const needed = `${rate} of answers needs a calibration with ${Math.ceil(1 / rate) - 1} whole answers`;
  throw new SettingsError('rate', `${needed}, and there are ${Math.round(largest / (1 - largest))}`);
}

/**
 * Applies the guard's action to each flagged step, as long as interventions are left. A guard that acts on spikes marks
 * steps.
 * @param choose choice among continuations; by default what most of them say
 */
export function policyOf(guard: Guard, choose: Choose = majority()): Policy {
  const { action, actOn, reflection, maxRollbacks } = guard;
  return (step, { interventions }) => {
    if (actOn === 'spike') return { action: 'annotate' };
    if (action === 'annotate' || action === 'stop') return { action };
    if (replacesAnswers(action)) return { action: 'annotate' };
    if (interventions >= maxRollbacks) return { action: 'annotate' };
    if (action === 'reflect') return { action, text: reflection };
    return rollback(guard, choose, step.from);
  };
}

/** The same for spikes; a guard that acts on steps marks them. */
export function spikePolicyOf(guard: Guard, choose: Choose = majority()): SpikePolicy {
  const { action, actOn, maxRollbacks } = guard;
  return ({ index }, { interventions }) => {
    if (actOn === 'step') return { action: 'annotate' };
    if (action === 'stop') return { action };
    if (action !== 'rollback' || interventions >= maxRollbacks) return { action: 'annotate' };
    return rollback(guard, choose, index);
  };
}

const rollback = ({ candidates }: Guard, choose: Choose, from: number): Rollback => ({
  action: 'rollback',
  from,
  candidates,
  choose,
});
