import { defer, finalize, from, type Observable } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import type { RiskModel } from '../uncertainty/risk.js';
import type { Scoring } from '../uncertainty/settings.js';
import { detectSpikes } from './detect-spikes.js';
import { EngineBranch } from './engine-branch.js';
import type { GuardEvent } from './events.js';
import { flagSteps } from './flag-steps.js';
import { FlowGate } from './flow-gate.js';
import { checkGuard, type Guard, policyOf } from './guard.js';
import { holdBack } from './hold-back.js';
import { intervene } from './intervene.js';
import type { Policy } from './policy.js';
import { rateRisk } from './rate-risk.js';
import { segmentSteps } from './segment-steps.js';

export interface GuardedRequest extends GenerateRequest {
  readonly scoring: Scoring;
  readonly guard: Guard;
  /** What is ordinary: from a calibration, or learnt while running. */
  readonly risks: RiskModel;
  /** In place of what the guard says. */
  readonly policy?: Policy;
}

/**
 * The usual pipeline: a generation that is scored, cut into steps and judged while it is written, and corrected as the
 * guard says.
 *
 * Errors with an EngineError, or a SettingsError that names the field.
 *
 * @example
 * const guard = { ...DEFAULT_GUARD, action: 'rollback' };
 * guardedGeneration(engine, { ...request, scoring: DEFAULT_SCORING, guard, risks }).subscribe(console.log);
 */
export function guardedGeneration(
  engine: Engine,
  { scoring, guard, risks, policy = policyOf(guard), ...request }: GuardedRequest,
  gate: FlowGate = new FlowGate(),
): Observable<GuardEvent> {
  const { action, candidates, delivery, method, per, rate, statistic } = guard;
  return defer(() => {
    checkGuard(guard, scoring);
    const corrects = action === 'rollback' ? candidates : action === 'reflect' ? 1 : 0;
    const root = EngineBranch.open(engine, request, {
      scoring,
      forks: corrects,
      rate: rateRisk(risks),
      judge: (place) => (events) =>
        events.pipe(
          segmentSteps(place),
          flagSteps({ method, statistic, per, rate, risks }),
          // After the verdicts: a spike stands beside its score, and a step's verdict comes last.
          detectSpikes<GuardEvent>({ method, rate, calibrated: risks.calibrated(method) }),
        ),
    });
    const guarded = from(root).pipe(
      intervene({ policy, seed: request.sampling.seed, gate }),
      // Also where nobody waits any longer when it opens.
      finalize(() => {
        root.then(
          (branch) => branch.close(),
          () => {}, // it never opened; the subscriber was told
        );
      }),
    );
    return delivery === 'held' ? guarded.pipe(holdBack({ now: () => performance.now() })) : guarded;
  });
}
