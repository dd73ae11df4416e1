import type { Observable } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import type { RiskModel } from '../risk/risk.js';
import type { GuardEvent } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import type { Scoring } from '../uncertainty/settings.js';
import { engineBranch } from './engine-branch.js';
import type { Guard } from './guard.js';
import { guardedBranch } from './guarded-branch.js';
import type { Policy } from './policy.js';

export interface GuardedRequest extends GenerateRequest {
  readonly scoring: Scoring;
  readonly guard: Guard;
  /** Distribution of ordinary scores: from a calibration, or learnt while running. */
  readonly risks: RiskModel;
  /** In place of the guard's action. */
  readonly policy?: Policy;
  /** Called with each event before steps are held back. */
  readonly written?: (event: GuardEvent) => void;
  /** Whether the response ends before its first token without a score, as where scoring is behind. */
  readonly refusesUnscored?: boolean | undefined;
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
  { scoring, guard, risks, policy, written, refusesUnscored, ...asked }: GuardedRequest,
  gate: FlowGate = new FlowGate(),
): Observable<GuardEvent> {
  const request = engine.complete(asked);
  const { seed } = request.sampling;
  return guardedBranch(
    (judging) => engineBranch(engine, request, { scoring, ...judging }),
    {
      scoring,
      guard,
      risks,
      seed,
      refusesUnscored,
      ...(policy && { policy }),
      ...(written && { written }),
    },
    gate,
  );
}
