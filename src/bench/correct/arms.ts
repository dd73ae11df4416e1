import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { atRandom, lowestUncertainty, majority } from '../../stream/choose.js';
import { isAlarm } from '../../stream/detect-spikes.js';
import { type Guard, policyOf } from '../../stream/guard.js';
import type { Choose } from '../../stream/policy.js';
import { DEFAULT_METHODS, type Method } from '../../uncertainty/method.js';
import { type RiskModel, type Statistic, stepScore } from '../../uncertainty/risk.js';
import { DEFAULT_RANDOM, DEFAULT_SCORING, type Scoring } from '../../uncertainty/settings.js';
import type { Problem } from '../tasks/problem.js';
import { stepContent } from '../tasks/verify.js';
import type { Guarding, Observed } from './answer-task.js';

/** What flags a step: a measure, or chance at the rate of another arm. */
export const TRIGGERS = ['adversarial', 'nll', 'entropy', 'margin', 'random', 'chance'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/**
 * What becomes of a flagged step. `facts` is a majority by what a step states as the verifier reads it: what a majority
 * could do if it understood every wording. `random` takes any candidate.
 */
export const REMEDIES = ['majority', 'facts', 'uncertainty', 'random', 'reflect'] as const;
export type Remedy = (typeof REMEDIES)[number];

export interface Arm {
  readonly trigger: Trigger;
  readonly remedy: Remedy;
}

export const nameOf = ({ trigger, remedy }: Arm): string => `${trigger}, ${remedy}`;

/** The first is the main one, named before anything was measured: it is compared with chance at the same rate. */
export const ARMS: readonly Arm[] = [
  { trigger: 'adversarial', remedy: 'majority' },
  { trigger: 'chance', remedy: 'majority' },
  { trigger: 'nll', remedy: 'majority' },
  { trigger: 'entropy', remedy: 'majority' },
  { trigger: 'margin', remedy: 'majority' },
  { trigger: 'random', remedy: 'majority' },
  { trigger: 'adversarial', remedy: 'uncertainty' },
  { trigger: 'chance', remedy: 'uncertainty' },
  { trigger: 'adversarial', remedy: 'facts' },
  { trigger: 'chance', remedy: 'facts' },
  { trigger: 'adversarial', remedy: 'random' },
  { trigger: 'adversarial', remedy: 'reflect' },
];

/** What all arms of a run have in common. */
export interface ArmSettings {
  readonly guard: Guard;
  readonly risks: RiskModel;
  /** Of a step to be flagged by chance. */
  readonly chance: number;
}

/** Which measure's scores a step is judged and candidates are compared by. */
export const methodOf = (trigger: Trigger): Method => (trigger === 'chance' ? 'adversarial' : trigger);

/** Fewer draws of Rand. Pert. than its 20: with 8 it costs about as much as Adv. Pert. */
export const RANDOM = { ...DEFAULT_RANDOM, samples: 8 };

export function scoringFor(methods: readonly Method[]): Scoring {
  return { ...DEFAULT_SCORING, methods, random: RANDOM };
}

/** The measures that arms go by; those that are cheap always. */
export const methodsOf = (arms: readonly Arm[]): Method[] => [
  ...new Set([...DEFAULT_METHODS, ...arms.map(({ trigger }) => methodOf(trigger))]),
];

/** Scores, and no verdict: how a problem is answered without a guard. */
export function unguarded(guard: Guard, methods: readonly Method[]): Guarding {
  return {
    scoring: scoringFor(methods),
    guard: { ...guard, action: 'annotate', delivery: 'immediate' },
    risks: { calibrated: () => false, ofToken: () => null, ofStep: () => null },
  };
}

/** @param seed of the problem, for what is drawn by chance */
export function guarding(arm: Arm, problem: Problem, seed: number, settings: ArmSettings): Guarding {
  const { trigger, remedy } = arm;
  const method = methodOf(trigger);
  const action = remedy === 'reflect' ? 'reflect' : 'rollback';
  const guard: Guard = { ...settings.guard, method, action };
  const choose: Readonly<Record<Remedy, Choose | undefined>> = {
    majority: majority(),
    facts: majority((text) => stepContent(problem.task, text) ?? text),
    uncertainty: lowestUncertainty,
    random: atRandom(uniforms(seed)),
    reflect: undefined,
  };
  return {
    scoring: scoringFor([method]),
    guard,
    risks: risksOf(trigger, seed, settings),
    policy: policyOf(guard, choose[remedy]),
  };
}

/** Whether a guard of this kind would have done anything to an answer that was given without one. */
export function flagsAny(
  trigger: Trigger,
  { steps, scores }: Pick<Observed, 'steps' | 'scores'>,
  seed: number,
  settings: ArmSettings,
): boolean {
  return flagCount(trigger, { steps, scores }, seed, settings) > 0;
}

export function flagCount(
  trigger: Trigger,
  { steps, scores }: Pick<Observed, 'steps' | 'scores'>,
  seed: number,
  settings: ArmSettings,
): number {
  const { rate, statistic } = settings.guard;
  const method = methodOf(trigger);
  const risks = risksOf(trigger, seed, settings);
  return steps.filter(({ from, to }) => {
    const score = scoreOf(scores.slice(from, to), method, statistic);
    return isAlarm(risks.ofStep(method, statistic, score), rate);
  }).length;
}

function scoreOf(scores: Observed['scores'], method: Method, statistic: Statistic): number {
  return stepScore(
    statistic,
    scores.flatMap(({ [method]: score }) => (score === undefined ? [] : [score])),
  );
}

/** Those of the measure, or 1 for a step that chance flags. Steps are asked about in order, once each. */
function risksOf(trigger: Trigger, seed: number, { risks, chance }: ArmSettings): RiskModel {
  if (trigger !== 'chance') return risks;
  const uniform = uniforms(seed);
  return { calibrated: () => true, ofToken: () => null, ofStep: () => (uniform() < chance ? 1 : 0) };
}

function uniforms(seed: number): () => number {
  const random = mersenne(seed ^ 0x5bd1e995);
  return () => uniformFloat64(random);
}
