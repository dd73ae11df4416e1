import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';
import { atRandom, lowestUncertainty, majority } from '#src/guard/choose.js';
import { DEFAULT_GUARD, type Guard, policyOf, spikePolicyOf } from '#src/guard/guard.js';
import type { Choose } from '#src/guard/policy.js';
import { hash32 } from '#src/numerics/noise.js';
import { isAlarm, type RiskModel, STEP_STATISTIC, stepScore } from '#src/risk/risk.js';
import { type Method, PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { DEFAULT_RANDOM, DEFAULT_SCORING, type Scoring } from '#src/uncertainty/settings.js';
import type { Guarding, Observed } from './answer-task.js';

/**
 * Criteria that flag a step: a measure, chance at the rate of the main arm, or `always`, which flags every
 * step.
 */
export const TRIGGERS = [...PROBABILITY_METHODS, 'adversarial', 'random', 'chance', 'always'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** Treatment of a flagged step. `random` takes any candidate. */
export const REMEDIES = ['majority', 'uncertainty', 'random', 'reflect'] as const;
export type Remedy = (typeof REMEDIES)[number];

export interface Arm {
  readonly trigger: Trigger;
  readonly remedy: Remedy;
}

export const nameOf = ({ trigger, remedy }: Arm): string => `${trigger}, ${remedy}`;

/** The first is the main one, named before anything was measured: what the guard does by default. */
export const ARMS: readonly Arm[] = [
  { trigger: 'nll', remedy: 'majority' },
  { trigger: 'chance', remedy: 'majority' },
  { trigger: 'always', remedy: 'majority' },
  { trigger: 'entropy', remedy: 'majority' },
  { trigger: 'margin', remedy: 'majority' },
  { trigger: 'adversarial', remedy: 'majority' },
  { trigger: 'random', remedy: 'majority' },
  { trigger: 'nll', remedy: 'uncertainty' },
  { trigger: 'nll', remedy: 'random' },
  { trigger: 'nll', remedy: 'reflect' },
];

/** Settings that all arms of a run have in common. */
export interface ArmSettings {
  readonly guard: Guard;
  /** Main trigger: it uses the guard's rate, of ordinary steps. */
  readonly main: Trigger;
  readonly risks: RiskModel;
  /**
   * Share of all steps, or of all tokens where the guard acts on spikes, that the main trigger flags in the unguarded
   * answers. Every other trigger flags as many.
   */
  readonly share: number;
  /** Threshold that flags this share, for each other measure. */
  readonly thresholds: ReadonlyMap<Method, number>;
}

type Answer = Pick<Observed, 'steps' | 'scores'>;

/** What may be flagged in an answer: its steps, or its tokens. */
export const unitsOf = (
  { steps, scores }: Answer,
  actOn: Guard['actOn'],
): readonly { readonly from: number; readonly to: number }[] =>
  actOn === 'step' ? steps : scores.map((_, from) => ({ from, to: from + 1 }));

/** Scores of all units of the unguarded answers that make a share of them the highest. */
export function thresholdFor(
  method: Method,
  answers: readonly Answer[],
  { actOn }: Pick<Guard, 'actOn'>,
  share: number,
): number {
  const scores = answers
    .flatMap((answer) =>
      unitsOf(answer, actOn).map(({ from, to }) => scoreOf(answer.scores.slice(from, to), method)),
    )
    .sort((a, b) => b - a);
  return scores[Math.max(0, Math.round(share * scores.length) - 1)] ?? Number.POSITIVE_INFINITY;
}

/** Measure whose scores judge a step and compare candidates. */
export const methodOf = (trigger: Trigger): Method =>
  trigger === 'chance' || trigger === 'always' ? DEFAULT_GUARD.method : trigger;

/** Fewer draws of Rand. Pert. than its 20, which would take most of the time of a run. */
export const RANDOM = { ...DEFAULT_RANDOM, samples: 8 };

export function scoringFor(methods: readonly Method[]): Scoring {
  return { ...DEFAULT_SCORING, methods, random: RANDOM };
}

/** The measures that arms go by; those that are cheap always. */
export const methodsOf = (arms: readonly Arm[]): Method[] => [
  ...new Set([...PROBABILITY_METHODS, ...arms.map(({ trigger }) => methodOf(trigger))]),
];

/** Scores, and no verdict: how a problem is answered without a guard. */
export function unguarded(guard: Guard, methods: readonly Method[]): Guarding {
  return {
    scoring: scoringFor(methods),
    guard: { ...guard, action: 'annotate', delivery: 'immediate' },
    risks: { calibrated: () => false, ofToken: () => null, ofStep: () => null, ofAnswer: () => null },
  };
}

/** @param seed of the problem, for what is drawn by chance */
export function guarding(arm: Arm, seed: number, settings: ArmSettings): Guarding {
  const { trigger, remedy } = arm;
  const method = methodOf(trigger);
  const action = remedy === 'reflect' ? 'reflect' : 'rollback';
  const guard: Guard = { ...settings.guard, method, action };
  const choose: Readonly<Record<Remedy, Choose | undefined>> = {
    majority: majority(),
    uncertainty: lowestUncertainty,
    random: atRandom(uniforms(seed)),
    reflect: undefined,
  };
  return {
    scoring: scoringFor([method]),
    guard,
    risks: risksOf(trigger, seed, settings),
    policy: policyOf(guard, choose[remedy]),
    spikePolicy: spikePolicyOf(guard, choose[remedy]),
  };
}

/** Units of an answer, given without a guard, that a guard of this kind would have flagged. */
export function flagCount(trigger: Trigger, answer: Answer, seed: number, settings: ArmSettings): number {
  const { rate, actOn } = settings.guard;
  const method = methodOf(trigger);
  const risks = risksOf(trigger, seed, settings);
  return unitsOf(answer, actOn).filter(({ from, to }) => {
    const score = scoreOf(answer.scores.slice(from, to), method);
    const risk =
      actOn === 'step' ? risks.ofStep(method, STEP_STATISTIC, score) : risks.ofToken(method, score, from);
    return isAlarm(risk, rate);
  }).length;
}

function scoreOf(scores: Observed['scores'], method: Method): number {
  return stepScore(
    STEP_STATISTIC,
    scores.flatMap(({ [method]: score }) => (score === undefined ? [] : [score])),
  );
}

/** Risks of the main trigger; for any other 1 for a flagged step, else 0. */
function risksOf(trigger: Trigger, seed: number, { main, risks, share, thresholds }: ArmSettings): RiskModel {
  if (trigger === main) return risks;
  const by = (isFlagged: (score: number, index?: number) => boolean): RiskModel => ({
    calibrated: () => true,
    ofStep: (_, __, score) => Number(isFlagged(score)),
    ofToken: (_, score, index) => Number(isFlagged(score, index)),
    ofAnswer: () => null,
  });
  if (trigger === 'always') return by(() => true);
  // The number depends on the step itself, or on the token's place, not on the order in which candidates are asked about.
  if (trigger === 'chance') return by((score, place) => uniformOf(seed, place ?? score) < share);
  const threshold = thresholds.get(methodOf(trigger)) ?? Number.POSITIVE_INFINITY;
  return by((score) => score >= threshold);
}

/** Number in [0, 1) of a score or a place. Scores of the same step may differ in their last digits. */
export const uniformOf = (seed: number, of: number): number =>
  (hash32(seed, hash32(...Buffer.from(of.toPrecision(3)))) >>> 0) / 2 ** 32;

function uniforms(seed: number): () => number {
  const random = mersenne(seed ^ 0x5bd1e995);
  return () => uniformFloat64(random);
}
